# RED with two flows, which twenty flows join: ns-2's own tests red2 and red2Adapt (tcl/test/test-suite-adaptive-red.tcl),
# which S. Floyd wrote for the paper "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue Management" (2001).
#
#   ns red.tcl ADAPTIVE ALGORITHM WAIT SEED       0|1  sack1|cubic  0|1  1, 2, ...
#
# WAIT is RED's wait_: with 1, at least 1/p packets pass between two drops. Every 10 ms the script prints the time and the
# numbers of packets that wait, that have left, and that were dropped.

lassign $argv adaptive algorithm wait seed
if {[llength $argv] != 4 || $algorithm ni {sack1 cubic}} {
    puts stderr "red.tcl: usage: ns red.tcl 0|1 sack1|cubic 0|1 SEED"
    exit 2
}
remove-all-packet-headers
add-packet-header Flags IP TCP
$defaultRNG seed $seed
set ns [new Simulator]
Agent/TCP set packetSize_ 1000
foreach field {bytes_ queue_in_bytes_} { Queue/RED set $field false }
foreach name {first second sinks left right} { set $name [$ns node] }
foreach {a b delay} [list $first $left 2ms $second $left 3ms $sinks $right 4ms] {
    $ns duplex-link $a $b 10Mb $delay DropTail
    $ns queue-limit $a $b 1000
    $ns queue-limit $b $a 1000
}
$ns duplex-link $left $right 1.5Mb 20ms RED
$ns queue-limit $left $right 25
$ns queue-limit $right $left 25
set red [[$ns link $left $right] queue]
$red set wait_ $wait
if {$adaptive} {
    $red set adaptive_ 1
    foreach field {thresh_ maxthresh_ q_weight_} { $red set $field 0 }
} else {
    foreach {field value} {thresh_ 5 maxthresh_ 15 q_weight_ 0.002} { $red set $field $value }
}

proc join_at {start_s from window packets} {
    global ns sinks algorithm
    if {$algorithm eq "sack1"} {
        set tcp [$ns create-connection TCP/Sack1 $from TCPSink/Sack1 $sinks 0]
    } else {
        set tcp [$ns create-connection TCP/Linux $from TCPSink/Sack1 $sinks 0]
        $ns at 0 "$tcp select_ca $algorithm"
    }
    $tcp set window_ $window
    set ftp [$tcp attach-app FTP]
    set what [expr {$packets > 0 ? "produce $packets" : "start"}]
    $ns at $start_s "$ftp $what"
}
join_at 0 $first 15 0
join_at 3 $second 15 0
for {set i 0} {$i < 20} {incr i} { join_at [expr {25 + 0.1 * $i}] $first 20 1000 }

set monitor [$ns monitor-queue $left $right ""]
proc look {} {
    global ns monitor
    puts "q [format %.2f [$ns now]] [$monitor set pkts_] [$monitor set pdepartures_] [$monitor set pdrops_]"
    $ns at [expr {[$ns now] + 0.01}] look
}
$ns at 0.01 look
$ns at 50.005 { exit 0 }
$ns run
