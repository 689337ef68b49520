# Speed of ns-2 on the engine's own benchmark: two CUBIC flows (TCP/Linux), 622 Mbit/s, 100 ms, 1555 packets.
#
#   ns speed.tcl [from_s to_s [headers]]          default 15 25 all
#
# The time is measured over an interval of simulated time in which the link is full and no flow is in recovery, without
# monitor and trace. The time to build the topology, slow start and the recovery after slow start are excluded. Segments
# are counted if they are delivered in order at the two sinks in this interval. The result is the one line of stdout that
# starts with a brace; select_ca prints further lines, which cannot be turned off.
#
# headers = all: each packet has the headers of all protocols, the default of ns-2.
# headers = tcp: each packet has only the headers that TCP needs, which makes ns-2 about twice as fast.

set from_s 15.0
set to_s 25.0
set headers all
if {[llength $argv] ni {0 2 3}} {
    puts stderr "speed.tcl: usage: ns speed.tcl \[from_s to_s \[all|tcp\]\]"
    exit 2
}
if {[llength $argv] >= 2} { lassign $argv from_s to_s }
if {[llength $argv] == 3} { set headers [lindex $argv 2] }
if {$headers ni {all tcp}} {
    puts stderr "speed.tcl: headers are all or tcp, not $headers"
    exit 2
}
# A sink counts bytes in a C int: 4 GiB pass in 55 s, and a difference is correct after one overflow, but not after two.
set numbers [expr {[string is double -strict $from_s] && [string is double -strict $to_s]}]
if {!$numbers || $from_s < 0 || $to_s <= $from_s || $to_s - $from_s > 50} {
    puts stderr "speed.tcl: needs 0 <= from_s < to_s <= from_s + 50"
    exit 2
}

if {$headers eq "tcp"} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}
set ns [new Simulator]
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 67000
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 622Mb 48ms DropTail
$ns queue-limit $left $right 1555
$ns queue-limit $right $left 1555
foreach i {0 1} start {0 0.0137} {
    set source [$ns node]
    set target [$ns node]
    foreach {a b} [list $source $left $right $target] {
        $ns duplex-link $a $b 1000Mb 1ms DropTail
        $ns queue-limit $a $b 200000
        $ns queue-limit $b $a 200000
    }
    set tcp($i) [new Agent/TCP/Linux]
    $ns at 0 "$tcp($i) select_ca cubic"
    set sink($i) [new Agent/TCPSink/Sack1]
    $ns attach-agent $source $tcp($i)
    $ns attach-agent $target $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at $start "$ftp($i) start"
}

proc in_order {} {
    global sink
    return [list [$sink(0) set bytes_] [$sink(1) set bytes_]]
}

proc begin {} {
    global bytes_then wall_then
    set bytes_then [in_order]
    set wall_then [clock microseconds]
}

proc finish {} {
    global bytes_then wall_then from_s to_s headers
    set wall_s [expr {([clock microseconds] - $wall_then) / 1e6}]
    set segments 0
    foreach now [in_order] then $bytes_then { incr segments [expr {(($now - $then) & 0xffffffff) / 1040}] }
    puts [format {{"segments_delivered":%d,"wall_seconds":%.6f,"segments_per_second":%.1f,"simulated_seconds":%.6g,"headers":"%s"}} \
        $segments $wall_s [expr {$segments / $wall_s}] [expr {$to_s - $from_s}] $headers]
    flush stdout
    exit 0
}

$ns at $from_s begin
$ns at $to_s finish
$ns run
