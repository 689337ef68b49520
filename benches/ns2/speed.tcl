# How fast ns-2 is on the engine's own benchmark: two CUBIC flows (TCP/Linux), 622 Mbit/s, 100 ms, 1555 packets.
#
#   ns speed.tcl [from_s to_s]          default 15 25
#
# The clock runs over a stretch of simulated time in which the link is full and nothing is being recovered, with no
# monitor, no trace and no packet headers but TCP's: ns-2 at its best. Building the topology, slow start and the
# recovery after it are left out. Segments are those delivered in order at the two sinks in that stretch. The answer is
# the one line of stdout that starts with a brace; select_ca prints lines of its own, which nothing can turn off.

set from_s 15.0
set to_s 25.0
if {[llength $argv] != 0 && [llength $argv] != 2} {
    puts stderr "speed.tcl: usage: ns speed.tcl \[from_s to_s\]"
    exit 2
}
if {[llength $argv] == 2} { lassign $argv from_s to_s }
# A sink counts bytes in a C int: 4 GiB pass in 55 s, and one difference can stand one wrap but not two.
set numbers [expr {[string is double -strict $from_s] && [string is double -strict $to_s]}]
if {!$numbers || $from_s < 0 || $to_s <= $from_s || $to_s - $from_s > 50} {
    puts stderr "speed.tcl: needs 0 <= from_s < to_s <= from_s + 50"
    exit 2
}

# Only the headers that TCP needs: ns-2 carries every protocol's headers in every packet otherwise.
remove-all-packet-headers
add-packet-header IP TCP Flags
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
    global bytes_then wall_then from_s to_s
    set wall_s [expr {([clock microseconds] - $wall_then) / 1e6}]
    set segments 0
    foreach now [in_order] then $bytes_then { incr segments [expr {(($now - $then) & 0xffffffff) / 1040}] }
    puts [format {{"segments_delivered":%d,"wall_seconds":%.6f,"segments_per_second":%.1f,"simulated_seconds":%.6g}} \
        $segments $wall_s [expr {$segments / $wall_s}] [expr {$to_s - $from_s}]]
    flush stdout
    exit 0
}

$ns at $from_s begin
$ns at $to_s finish
$ns run
