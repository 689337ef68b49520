# A dumbbell in ns-2: N senders - R0 - bottleneck - R1 - N receivers, one JSON document.
#
#   ns dumbbell.tcl key value [key value ...]
#
# The script writes no packet trace: a monitor reads the queues, and the agents' variables are read periodically.
# The output repeats the options, so a file of results states its origin.

array set arg {
    algorithms   reno
    starts       0
    rate_bps     622e6
    delay_s      0.048
    access_bps   1e9
    access_s     0.001
    buffer       1555
    access_queue 200000
    payload      1000
    window       67000
    timestamps   0
    sink         Sack1
    agent        Linux
    prelude      {}
    headers      all
    fast_alpha   200
    duration_s   30
    period_s     0.1
    marks        {}
    follow       {}
    follow_file  /dev/null
    out          {}
    start_jitter_s 0
    send_jitter_s  0
    seed         1
}

proc fail {message} {
    puts stderr "dumbbell.tcl: $message"
    exit 2
}

if {[llength $argv] % 2} { fail "arguments are pairs: key value" }
foreach {key value} $argv {
    if {![info exists arg($key)]} { fail "no such key: $key; known: [lsort [array names arg]]" }
    set arg($key) $value
}
set flows [llength $arg(algorithms)]
if {[llength $arg(starts)] != $flows} { fail "starts has [llength $arg(starts)] entries, algorithms has $flows" }
if {[llength $arg(access_s)] ni [list 1 $flows]} { fail "access_s has one entry for all flows, or one for each" }
if {$arg(seed) < 1} { fail "seed must be at least 1: ns-2 reads 0 as the time of day" }

# ns-2 and its modules also print to stdout, so the document is written to the file `out` if this option is given.
ns-random $arg(seed)
set jitter [new RNG]
$jitter seed $arg(seed)

# By default, a packet has the headers of all protocols; with only TCP's headers the same run takes half the time.
if {$arg(headers) ni {all tcp}} { fail "headers are all or tcp, not $arg(headers)" }
if {$arg(headers) eq "tcp"} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}
if {$arg(prelude) ne ""} { source $arg(prelude) }
set ns [new Simulator]
Agent/TCP set timestamps_ [expr {$arg(timestamps) ? "true" : "false"}]
Agent/TCP set packetSize_ $arg(payload)
Agent/TCP set window_ $arg(window)
Agent/TCP set overhead_ $arg(send_jitter_s)

# ns-2's classic SACK sender; windowOption_ 8 is its HighSpeed TCP.
proc make_sack1 {window_option} {
    set tcp [new Agent/TCP/Sack1]
    $tcp set windowOption_ $window_option
    return $tcp
}

# ns-2's own FAST. Debian's ns-2 leaves that file out: a prelude can load it as a shared library.
proc make_fast {} {
    global arg
    if {[catch {new Agent/TCP/Fast} tcp]} { fail "this ns-2 has no Agent/TCP/Fast; name a prelude that loads it" }
    $tcp set alpha_ $arg(fast_alpha)
    $tcp set beta_ $arg(fast_alpha)
    return $tcp
}

# One SACK sender. `fast`, `reno-sack1` and `hstcp-sack1` name agents; other names are modules of Linux 2.6.22 for the
# agent Linux, or reno and highspeed for the agent Sack1.
proc make_agent {algorithm} {
    global ns arg
    switch -- $algorithm {
        fast        { return [make_fast] }
        reno-sack1  { return [make_sack1 1] }
        hstcp-sack1 { return [make_sack1 8] }
    }
    if {$arg(agent) eq "Linux"} {
        set tcp [new Agent/TCP/Linux]
        $ns at 0 "$tcp select_ca $algorithm"
        return $tcp
    }
    switch -- $algorithm {
        reno      { return [make_sack1 1] }
        highspeed { return [make_sack1 8] }
    }
    fail "agent Sack1 knows reno and highspeed, not $algorithm"
}

set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $arg(rate_bps) $arg(delay_s)s DropTail
$ns queue-limit $left $right $arg(buffer)
$ns queue-limit $right $left $arg(buffer)
set monitor [$ns monitor-queue $left $right ""]

set followed [open $arg(follow_file) w]
for {set i 0} {$i < $flows} {incr i} {
    set source [$ns node]
    set target [$ns node]
    # One access delay for all flows, or one for each flow.
    set access_s [lindex $arg(access_s) [expr {[llength $arg(access_s)] == 1 ? 0 : $i}]]
    foreach {a b} [list $source $left $right $target] {
        $ns duplex-link $a $b $arg(access_bps) ${access_s}s DropTail
        $ns queue-limit $a $b $arg(access_queue)
        $ns queue-limit $b $a $arg(access_queue)
    }
    set tcp($i) [make_agent [lindex $arg(algorithms) $i]]
    $tcp($i) set fid_ $i
    set sink($i) [new Agent/TCPSink/$arg(sink)]
    $ns attach-agent $source $tcp($i)
    $ns attach-agent $target $sink($i)
    $ns connect $tcp($i) $sink($i)
    # Every change of these agent variables is written to the file: few lines for ssthresh_, one line a packet for ack_.
    if {[llength $arg(follow)]} {
        $tcp($i) attach $followed
        foreach variable $arg(follow) { $tcp($i) trace $variable }
    }
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    set start [expr {[lindex $arg(starts) $i] + ($arg(start_jitter_s) ? [$jitter uniform 0 $arg(start_jitter_s)] : 0)}]
    lappend started $start
    $ns at $start "$ftp($i) start"
}

# Bytes delivered in order to a sink. ns-2 counts them in a C int, which overflows after half a minute at 622 Mbit/s. If
# the count is read at least once in 4 GiB, the sum of the differences is the true count.
proc bytes_in_order {i} {
    global sink bytes_seen bytes_total
    set now [$sink($i) set bytes_]
    incr bytes_total($i) [expr {($now - $bytes_seen($i)) & 0xffffffff}]
    set bytes_seen($i) $now
    return $bytes_total($i)
}
for {set i 0} {$i < $flows} {incr i} {
    set bytes_seen($i) 0
    set bytes_total($i) 0
}
if {$arg(rate_bps) * $arg(period_s) / 8 >= 4294967296} { fail "period_s is too long to count bytes at this rate" }

# A row: time, then per flow (cwnd, in-order segments at the sink, retransmissions, timeouts, window cuts),
# then the bottleneck (arrived, dropped, sent, waiting now), all counts since the start.
proc row {} {
    global ns tcp flows monitor arg
    set wire [expr {$arg(payload) + 40 + ($arg(timestamps) ? 10 : 0)}]
    set cells [format %.9g [$ns now]]
    for {set i 0} {$i < $flows} {incr i} {
        # Segment 0 is a bare 40-byte SYN and counts as one.
        set bytes [bytes_in_order $i]
        set arrived [expr {$bytes ? 1 + ($bytes - 40) / $wire : 0}]
        lappend cells [format %.6g [$tcp($i) set cwnd_]] $arrived [$tcp($i) set nrexmitpack_] \
            [$tcp($i) set nrexmit_] [$tcp($i) set ncwndcuts_]
    }
    lappend cells [$monitor set parrivals_] [$monitor set pdrops_] [$monitor set pdepartures_] [$monitor set pkts_]
    return "\[[join $cells ,]\]"
}

set rows {}
proc sample {} {
    global ns arg rows
    lappend rows [row]
    $ns after $arg(period_s) sample
}
set marked {}
proc mark {} {
    global marked
    lappend marked [row]
}

proc quoted {text} { return "\"[string map {\\ \\\\ \" \\\"} $text]\"" }

proc finish {} {
    global arg rows marked started flows followed wall_from
    close $followed
    set wall [format %.3f [expr {([clock milliseconds] - $wall_from) / 1000.0}]]
    set said {}
    foreach key [lsort [array names arg]] { lappend said "[quoted $key]:[quoted $arg($key)]" }
    set columns {time_s}
    for {set i 0} {$i < $flows} {incr i} {
        foreach name {cwnd in_order retransmits timeouts window_cuts} { lappend columns "$name\[$i\]" }
    }
    lappend columns arrived dropped sent waiting
    set names {}
    foreach name $columns { lappend names [quoted $name] }
    set document [list "\"options\":{[join $said ,]}" "\"starts_s\":\[[join $started ,]\]" "\"wall_seconds\":$wall" \
        "\"columns\":\[[join $names ,]\]" "\"marks\":\[[join $marked ,]\]" "\"rows\":\[[join $rows ,]\]"]
    set channel [expr {$arg(out) eq "" ? "stdout" : [open $arg(out) w]}]
    puts $channel "{[join $document ,]}"
    flush $channel
    exit 0
}

$ns at 0 sample
foreach time $arg(marks) { $ns at $time mark }
$ns at $arg(duration_s) finish
set wall_from [clock milliseconds]
$ns run
