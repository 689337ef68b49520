//! The path: network namespaces, and devices with netem or another queue discipline between them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::thread;
use std::time::Duration;

use crate::netlink::{Counted, Netlink, QueueCounts, far_end, near_end};
use crate::plan::Plan;
use crate::sys;

/// Namespace of the senders.
pub const SENDERS: usize = 0;
/// Namespace of the receivers.
pub const RECEIVERS: usize = 1;

const RUNNING_WITHIN: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The namespaces of a run.
pub struct Path {
    namespaces: Vec<File>,
    talks: Vec<Netlink>,
    watched: Vec<(usize, u32)>,
    /// The kernel's own queue disciplines, by namespace and device.
    own: BTreeMap<(usize, u32), Counted>,
}

/// Adds the place at which an error occurred to the error.
pub fn at(place: impl AsRef<str>) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", place.as_ref()))
}

/// Adds the queue discipline at which an error occurred, and says if the kernel lacks it.
fn of_queue(kind: &str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(
            error.kind(),
            format!(
                "this kernel has no queue discipline '{kind}'; 'elephan lab linux build --source DIR' builds another"
            ),
        ),
        _ => at(kind)(error),
    }
}

fn set(sysctls: &BTreeMap<String, String>) -> io::Result<()> {
    sysctls.iter().try_for_each(|(name, value)| fs::write(format!("/proc/sys/{name}"), value).map_err(at(name)))
}

impl Path {
    /// Creates the namespaces, devices and routes of a plan.
    pub fn lay(plan: &Plan) -> io::Result<Self> {
        let (mut namespaces, mut talks) = (Vec::new(), Vec::new());
        set(&plan.guest_sysctls)?;
        // A namespace has two descriptors, a flow three.
        sys::allow_descriptors(1024 + 2 * plan.namespaces as u64 + 3 * plan.flows.len() as u64)?;
        let mut outside = Netlink::new()?;
        let origin = File::open("/proc/thread-self/ns/net")?;
        for number in 0..plan.namespaces {
            sys::new_namespace().map_err(at("a network namespace"))?;
            set(&plan.sysctls)?;
            plan.host_sysctls.get(number).map_or(Ok(()), set)?;
            namespaces.push(File::open("/proc/thread-self/ns/net")?);
            talks.push(Netlink::new()?);
        }
        let mut path = Self { namespaces, talks, watched: Vec::new(), own: BTreeMap::new() };
        for number in 0..plan.devices.len() {
            if plan.devices[number].to.is_none() {
                sys::enter(&origin)?;
                path.adopt(plan, number, &mut outside)
            } else {
                path.device(plan, number)
            }
            .map_err(at(format!("device {number}")))?;
        }
        // A route with a source needs the source's address.
        for &(namespace, ip) in &plan.addresses {
            path.enter(namespace)?;
            path.talks[namespace].address("lo", ip).map_err(at(format!("address {ip}")))?;
        }
        for route in &plan.routes {
            path.enter(route.namespace)?;
            path.talks[route.namespace]
                .route(route, &near_end(route.device))
                .map_err(at(format!("a route to {}", route.to)))?;
        }
        for flow in &plan.flows {
            for (namespace, ip) in [(SENDERS, flow.sender), (RECEIVERS, flow.receiver)] {
                path.enter(namespace)?;
                path.talks[namespace].address("lo", ip).map_err(at(format!("address {ip}")))?;
            }
        }
        path.wait_until_running(plan)?;
        for (number, device) in plan.devices.iter().enumerate() {
            if let Some(queue) = &device.queue {
                path.enter(device.from)?;
                path.talks[device.from].hold_a_frame(&near_end(number), queue).map_err(at(&queue.kind))?;
            }
        }
        Ok(path)
    }

    /// Waits until the kernel has enabled every device; until then a device drops packets.
    fn wait_until_running(&mut self, plan: &Plan) -> io::Result<()> {
        let mut left = RUNNING_WITHIN;
        for (number, device) in plan.devices.iter().enumerate() {
            // A device that leads out of the guest has no carrier state that the kernel watches.
            let Some(to) = device.to else { continue };
            for (namespace, name) in [(to, far_end(number)), (device.from, near_end(number))] {
                self.enter(namespace)?;
                while !self.talks[namespace].is_up(&name)? {
                    if left.is_zero() {
                        return Err(io::Error::other(format!(
                            "device {name} still drops packets after {RUNNING_WITHIN:?}"
                        )));
                    }
                    thread::sleep(LOOK_AGAIN);
                    left = left.saturating_sub(LOOK_AGAIN);
                }
            }
        }
        Ok(())
    }

    /// Moves a device into its namespace; the device leads out of the guest.
    fn adopt(&mut self, plan: &Plan, number: usize, outside: &mut Netlink) -> io::Result<()> {
        let device = &plan.devices[number];
        outside.adopt(number, device.mtu, &self.namespaces[device.from])?;
        self.enter(device.from)?;
        let name = near_end(number);
        sys::segment_in_host(&name)?;
        sys::receive_one_by_one(&name)?;
        self.talks[device.from].up(&name)
    }

    fn device(&mut self, plan: &Plan, number: usize) -> io::Result<()> {
        let device = &plan.devices[number];
        let to = device.to.ok_or(io::ErrorKind::InvalidInput)?;
        self.enter(device.from)?;
        self.talks[device.from].pair(number, device.mtu, &self.namespaces[to])?;
        let name = near_end(number);
        if device.host {
            sys::segment_in_host(&name)?;
        }
        if let Some(netem) = &device.netem {
            self.talks[device.from].netem(&name, netem)?;
        }
        if let Some(queue) = &device.queue {
            self.talks[device.from].queue(&name, queue).map_err(of_queue(&queue.kind))?;
            let counted = Counted { marks_at: queue.marks_at, held: queue.idle_limit.is_some().into() };
            self.own.insert((device.from, sys::device_index(&name)?), counted);
        }
        self.talks[device.from].up(&name)?;
        if device.watched {
            self.watched.push((device.from, sys::device_index(&name)?));
        }
        self.enter(to)?;
        self.talks[to].up(&far_end(number))
    }

    /// Enters a namespace, in which new sockets are then created.
    pub fn enter(&self, namespace: usize) -> io::Result<()> {
        sys::enter(&self.namespaces[namespace])
    }

    /// Counts of the watched queues, in the order of the devices.
    pub fn queues(&mut self) -> io::Result<Vec<QueueCounts>> {
        let mut found = Vec::with_capacity(self.watched.len());
        let mut answers: Vec<(usize, Vec<(u32, QueueCounts)>)> = Vec::new();
        for &(namespace, index) in &self.watched {
            if !answers.iter().any(|(known, _)| *known == namespace) {
                let own = |index| self.own.get(&(namespace, index)).copied();
                answers.push((namespace, self.talks[namespace].queues(own)?));
            }
            let (_, counts) = answers.iter().find(|(known, _)| *known == namespace).ok_or(io::ErrorKind::NotFound)?;
            found.push(counts.iter().find(|(of, _)| *of == index).map_or(QueueCounts::default(), |found| found.1));
        }
        Ok(found)
    }
}
