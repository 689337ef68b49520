//! Time until a late-starting flow has its share, by the definitions of the papers that measured it.

use crate::ask::{Ask, Setting};
use crate::data::{Data, Window};
use crate::error::{Found, undefined};
use crate::numbers::{increases, largest, shown, smallest, sum};

/// Length of a running mean, s.
pub(crate) const MEAN_S: Setting = ("mean_s", 10.0);
/// Share of the first flow's mean that counts as reached.
pub(crate) const REACHED: Setting = ("reached", 0.8);
/// Time for which a window must stay above the share, s.
pub(crate) const STAYS_S: Setting = ("stays_s", 30.0);
/// Share of the fair share that counts as the steady state.
pub(crate) const STEADY: Setting = ("steady", 0.95);
/// Jain's index that counts as fair.
pub(crate) const INDEX: Setting = ("index", 0.95);
/// Deviation from the fair share, δ.
pub(crate) const DELTA: Setting = ("delta", 0.1);
/// Time for which throughputs must stay close, s.
pub(crate) const HOLD_S: Setting = ("hold_s", 20.0);
/// Difference of close throughputs, as a fraction of the larger one.
pub(crate) const WITHIN: Setting = ("within", 0.1);

/// Two flows from the first whole second at which both are active.
struct Pair {
    flows: [usize; 2],
    /// Start of the second flow, s.
    started_s: f64,
    /// Whole seconds of the window.
    bins: Window,
}

/// Bytes per second of two flows.
struct Rates {
    started_s: f64,
    /// Edges of the bins, s.
    edges: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
}

/// The two flows of a window; `apart` if they must not start together.
fn together(data: &Data, ask: &Ask, apart: bool) -> Found<Pair> {
    let flows = data.pair(ask.flows)?;
    let [first, second] = flows;
    if apart && data.flow(first).start_ps == data.flow(second).start_ps {
        return undefined("both flows start together, so that neither has to converge to the other");
    }
    let (from_s, to_s) = data.window(Some(ask.window.unwrap_or_else(|| data.whole())))?;
    let started_s = data.start_s(second)?;
    let begin_s = from_s.max(started_s).max(data.start_s(first)?).ceil();
    if begin_s >= to_s {
        let end = shown(to_s);
        return undefined(format!("the window ends at {end} s, before the second flow has been there for a second"));
    }
    let seconds = (to_s - begin_s).floor();
    if seconds == 0.0 {
        return undefined("the window contains no whole second of both flows");
    }
    Ok(Pair { flows, started_s, bins: (begin_s, begin_s + seconds) })
}

fn rates(data: &Data, ask: &Ask, apart: bool) -> Found<Rates> {
    let Pair { flows, started_s, bins } = together(data, ask, apart)?;
    let (edges, mut bytes) = data.binned(&flows, "wire_bytes", bins, 1.0)?;
    let second = bytes.pop().unwrap_or_default();
    Ok(Rates { started_s, edges, first: bytes.pop().unwrap_or_default(), second })
}

/// Running means over `count` bins; the first mean ends with bin number `count`.
fn running_means(rates: &[f64], count: usize) -> Found<Vec<f64>> {
    if rates.len() < count || count == 0 {
        let there = rates.len();
        return undefined(format!("the two flows are active together for {there} s; a running mean takes {count}"));
    }
    Ok(rates.windows(count).map(|bins| sum(bins.iter().copied()) / count as f64).collect())
}

/// True at each position from which a condition holds for `steps` steps; shorter than `met` by `steps - 1`.
fn held(met: &[bool], steps: usize) -> Vec<bool> {
    met.windows(steps.max(1)).map(|steps| steps.iter().all(|&met| met)).collect()
}

/// The first time at which a condition holds; infinite if it never holds.
fn first_time(times: &[f64], met: &[bool]) -> f64 {
    times.iter().zip(met).find(|&(_, &met)| met).map_or(f64::INFINITY, |(&time, _)| time)
}

/// A condition on each pair of values.
fn each(first: &[f64], second: &[f64], met: impl Fn(f64, f64) -> bool) -> Vec<bool> {
    first.iter().zip(second).map(|(&first, &second)| met(first, second)).collect()
}

/// The time from the second flow's start until the running means of both flows meet a condition.
fn until_means(data: &Data, ask: &Ask, met: impl Fn(f64, f64) -> bool) -> Found<f64> {
    let Rates { started_s, edges, first, second } = rates(data, ask, true)?;
    let count = ask.count(MEAN_S);
    let met = each(&running_means(&first, count)?, &running_means(&second, count)?, met);
    Ok(first_time(&edges[count..], &met) - started_s)
}

pub(crate) fn convergence_time_s(data: &Data, ask: &Ask) -> Found<f64> {
    let reached = ask.get(REACHED);
    until_means(data, ask, |first, second| second >= reached * first && second > 0.0)
}

pub(crate) fn delta_fair_convergence_time_s(data: &Data, ask: &Ask) -> Found<f64> {
    let share = (1.0 - ask.get(DELTA)) / 2.0;
    until_means(data, ask, |first, second| second >= share * (first + second) && second > 0.0)
}

pub(crate) fn converged(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(if convergence_time_s(data, ask)?.is_finite() { 1.0 } else { 0.0 })
}

pub(crate) fn convergence_accumulated_time_s(data: &Data, ask: &Ask) -> Found<f64> {
    let Rates { started_s, edges, first, second } = rates(data, ask, true)?;
    let running = |rates: &[f64]| {
        let mut total = 0.0;
        let add = |rate: &f64| {
            total += rate;
            total
        };
        rates.iter().map(add).collect::<Vec<f64>>()
    };
    let reached = ask.get(REACHED);
    let met = |first, second| second >= reached * first && second > 0.0;
    Ok(first_time(&edges[1..], &each(&running(&first), &running(&second), met)) - started_s)
}

pub(crate) fn convergence_cwnd_time_s(data: &Data, ask: &Ask) -> Found<f64> {
    let pair = together(data, ask, true)?;
    let (count, reached) = (ask.count(MEAN_S), ask.get(REACHED));
    let [first, second] = pair.flows.map(|flow| running_means(&cwnd_means(data, flow, pair.bins)?, count));
    let met = held(&each(&first?, &second?, |first, second| second >= reached * first), ask.count(STAYS_S) + 1);
    let times: Vec<f64> = (0..met.len()).map(|step| pair.bins.0 + (count + step) as f64).collect();
    Ok(first_time(&times, &met) - pair.started_s)
}

/// Time averages of a congestion window over each second; NaN from a flow's end on.
fn cwnd_means(data: &Data, flow: usize, bins: Window) -> Found<Vec<f64>> {
    let (times, cwnd) = data.alive(flow, "cwnd", bins)?;
    let mut total = vec![0.0];
    for (time, cwnd) in times.windows(2).zip(cwnd.windows(2)) {
        total.push(total[total.len() - 1] + (cwnd[0] + cwnd[1]) / 2.0 * (time[1] - time[0]));
    }
    Ok(increases(&data.on_grid(&times, &total, bins, 1.0)?.1))
}

pub(crate) fn convergence_epochs(data: &Data, ask: &Ask) -> Found<f64> {
    let Pair { flows: [first, second], bins, .. } = together(data, ask, true)?;
    let (_, mut losses) = data.flow_series(first, "loss_events", bins)?;
    losses.iter_mut().filter(|count| count.is_nan()).for_each(|count| *count = 0.0);
    let backoffs: Vec<usize> = (1..losses.len()).filter(|&at| losses[at] > losses[at - 1]).collect();
    if backoffs.len() < 2 {
        let (first, second) = (data.name(first), data.name(second));
        let why = format!("flow '{first}' backs off too seldom for an epoch after flow '{second}' has started");
        return undefined(why);
    }
    let received = |flow: usize| {
        let (_, bytes) = data.flow_series(flow, "wire_bytes", bins)?;
        Ok(increases(&backoffs.iter().map(|&at| bytes[at]).collect::<Vec<f64>>()))
    };
    let steady = ask.get(STEADY);
    let fair = |first: f64, second: f64| second >= steady * (first + second) / 2.0 && second > 0.0;
    let met = each(&received(first)?, &received(second)?, fair);
    Ok(met.iter().position(|&met| met).map_or(f64::INFINITY, |epoch| 1.0 + epoch as f64))
}

pub(crate) fn fairness_excursion_s(data: &Data, ask: &Ask) -> Found<f64> {
    let Rates { first, second, .. } = rates(data, ask, true)?;
    let (count, reached) = (ask.count(MEAN_S), ask.get(REACHED));
    let (first, second) = (running_means(&first, count)?, running_means(&second, count)?);
    let met = each(&first, &second, |first, second| second >= reached * first && second > 0.0);
    let Some(since) = met.iter().position(|&met| met) else {
        return undefined("the flows never converge, so they cannot diverge again");
    };
    let apart = each(&first[since..], &second[since..], |a, b| a.min(b) < reached * a.max(b));
    let longest = apart.split(|&apart| !apart).map(<[bool]>::len).max();
    Ok(longest.unwrap_or(0) as f64)
}

pub(crate) fn convergence_abs_time_s(data: &Data, ask: &Ask) -> Found<f64> {
    let Rates { edges, first, second, .. } = rates(data, ask, false)?;
    let within = ask.get(WITHIN);
    let close = |a: f64, b: f64| (a - b).abs() <= within * a.max(b) && a.max(b) > 0.0;
    Ok(first_time(&edges, &held(&each(&first, &second, close), ask.count(HOLD_S))))
}

/// All flows, the start of the last flow, and the window from the first whole second at which all flows are active.
fn everyone(data: &Data, ask: &Ask, alone: &str) -> Found<(Vec<usize>, f64, Window)> {
    let flows = data.flows(ask.flows)?;
    if flows.len() < 2 {
        return undefined(alone);
    }
    let (from_s, to_s) = data.window(Some(ask.window.unwrap_or_else(|| data.whole())))?;
    let starts = flows.iter().map(|&flow| data.start_s(flow)).collect::<Found<Vec<f64>>>()?;
    let started_s = largest(&starts);
    Ok((flows, started_s, (from_s.max(started_s).ceil(), to_s)))
}

pub(crate) fn jain_convergence_time_s(data: &Data, ask: &Ask) -> Found<f64> {
    let (flows, started_s, (begin_s, to_s)) = everyone(data, ask, "one flow has no other flow to share with")?;
    let count = ask.count(MEAN_S);
    if begin_s + count as f64 > to_s {
        return undefined(format!("all flows are active for less than {count} s, and a running mean takes that"));
    }
    let (edges, bytes) = data.binned(&flows, "wire_bytes", (begin_s, to_s), 1.0)?;
    let means = bytes.iter().map(|rates| running_means(rates, count)).collect::<Found<Vec<_>>>()?;
    let fair = |at: usize| {
        let squares = sum(means.iter().map(|flow| flow[at] * flow[at]));
        let total = sum(means.iter().map(|flow| flow[at]));
        total * total >= ask.get(INDEX) * flows.len() as f64 * squares && squares > 0.0
    };
    let met: Vec<bool> = (0..means[0].len()).map(fair).collect();
    Ok(first_time(&edges[count..], &met) - started_s)
}

pub(crate) fn rates_close_time_s(data: &Data, ask: &Ask) -> Found<f64> {
    let (flows, started_s, (begin_s, to_s)) = everyone(data, ask, "one flow has no other flow to compare with")?;
    if begin_s + 1.0 > to_s {
        return undefined("the window contains no whole second of all flows");
    }
    let (edges, bytes) = data.binned(&flows, "wire_bytes", (begin_s, to_s), 1.0)?;
    let within = ask.get(WITHIN);
    let close = |bin: usize| {
        let rates: Vec<f64> = bytes.iter().map(|flow| flow[bin]).collect();
        let most = largest(&rates);
        most - smallest(&rates) <= within * most && most > 0.0
    };
    let met: Vec<bool> = (0..bytes[0].len()).map(close).collect();
    Ok(first_time(&edges, &held(&met, ask.count(HOLD_S))) - started_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_must_hold_for_all_steps() {
        let met = [true, true, false, true, true, true];
        assert_eq!(held(&met, 3), [false, false, false, true]);
        assert!(held(&met, 7).is_empty());
        assert_eq!(first_time(&[0.0, 1.0, 2.0, 3.0], &held(&met, 3)), 3.0);
        assert_eq!(first_time(&[0.0], &[false]), f64::INFINITY);
    }

    #[test]
    fn a_running_mean_needs_its_bins() {
        assert_eq!(running_means(&[1.0, 2.0, 3.0], 2), Ok(vec![1.5, 2.5]));
        assert!(running_means(&[1.0], 2).is_err() && running_means(&[1.0], 0).is_err());
    }
}
