# Time of a delivered segment in ns-2 with many flows: CUBIC flows (TCP/Linux) over one bottleneck, on the path of the
# crowds of `elephan bench`: packets of 1500 B, SACK, an ACK for every second packet, a buffer of half a BDP.
#
#   ns crowd.tcl flows rate_bps from_s to_s [headers]      headers: all (default) or tcp, as in speed.tcl
#
# The flows start within the first second. The time is measured from from_s to to_s of simulated time, without monitor
# and trace; the time to build the topology and the time before from_s are excluded. Segments are counted if they are
# delivered in order at the sinks in this interval. The result is the one line of stdout that starts with a brace.

proc fail {message} {
    puts stderr "crowd.tcl: $message"
    exit 2
}
if {[llength $argv] ni {4 5}} { fail "usage: ns crowd.tcl flows rate_bps from_s to_s \[all|tcp\]" }
lassign $argv flows rate_bps from_s to_s
set headers [expr {[llength $argv] == 5 ? [lindex $argv 4] : "all"}]
if {$headers ni {all tcp}} { fail "headers are all or tcp, not $headers" }
if {![string is integer -strict $flows] || $flows < 1} { fail "flows must be a positive number, not $flows" }
foreach number [list $rate_bps $from_s $to_s] {
    if {![string is double -strict $number]} { fail "$number is not a number" }
}
if {$from_s < 0 || $to_s <= $from_s} { fail "needs 0 <= from_s < to_s" }
# A sink counts bytes in a C int: a difference of two counts is correct after one overflow, but not after two.
if {$rate_bps / 8 * ($to_s - $from_s) / $flows >= 4294967296} { fail "the stretch is too long to count a flow's bytes" }

if {$headers eq "tcp"} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}
set rtt_s 0.1
set wire_bytes 1500
set bdp [expr {$rate_bps * $rtt_s / 8 / $wire_bytes}]
set ns [new Simulator]
# The script sets the routes, since ns-2 takes a minute to compute those of 1,000 flows.
$ns rtproto Manual
Agent/TCP set packetSize_ [expr {$wire_bytes - 40}]
Agent/TCP set windowInit_ 10
Agent/TCP set window_ [expr {max(2, round(1.25 * $bdp / $flows))}]
Agent/TCPSink/Sack1/DelAck set interval_ 40ms
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $rate_bps [expr {$rtt_s / 2}]s DropTail
foreach {a b} [list $left $right $right $left] { $ns queue-limit $a $b [expr {round($bdp / 2)}] }
set access_bps [expr {10 * $rate_bps}]
[$left get-module Manual] add-route-to-adj-node -default $right
[$right get-module Manual] add-route-to-adj-node -default $left
for {set i 0} {$i < $flows} {incr i} {
    set source [$ns node]
    set target [$ns node]
    foreach {a b} [list $source $left $right $target] {
        $ns duplex-link $a $b $access_bps 0s DropTail
        $ns queue-limit $a $b 1000000
        $ns queue-limit $b $a 1000000
    }
    foreach {leaf router} [list $source $left $target $right] {
        [$leaf get-module Manual] add-route-to-adj-node -default $router
        [$router get-module Manual] add-route-to-adj-node $leaf
    }
    set tcp($i) [new Agent/TCP/Linux]
    $ns at 0 "$tcp($i) select_ca cubic"
    set sink($i) [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $source $tcp($i)
    $ns attach-agent $target $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at [expr {double($i) / $flows}] "$ftp($i) start"
}

proc begin {} {
    global flows sink bytes_then wall_then
    for {set i 0} {$i < $flows} {incr i} { set bytes_then($i) [$sink($i) set bytes_] }
    set wall_then [clock microseconds]
}

proc finish {} {
    global flows sink bytes_then wall_then wire_bytes from_s to_s headers
    set wall_s [expr {([clock microseconds] - $wall_then) / 1e6}]
    set segments 0
    for {set i 0} {$i < $flows} {incr i} {
        incr segments [expr {(([$sink($i) set bytes_] - $bytes_then($i)) & 0xffffffff) / $wire_bytes}]
    }
    puts [format {{"flows":%d,"segments_delivered":%d,"wall_seconds":%.6f,"simulated_seconds":%.6g,"headers":"%s"}} \
        $flows $segments $wall_s [expr {$to_s - $from_s}] $headers]
    flush stdout
    exit 0
}

$ns at $from_s begin
$ns at $to_s finish
$ns run
