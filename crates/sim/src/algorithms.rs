//! Construction of the congestion control that a spec names.

use std::collections::BTreeMap;

use elephan_cc::param::Problem;
use elephan_cc::{Algorithm, BuildError, Controller, Router, Value};

use crate::spec::{FlowSpec, Spec, SpecError, value_of};

/// Builds the congestion control of a TCP flow.
///
/// # Errors
/// An unknown algorithm, preset or parameter, or a value out of range.
pub fn controller(index: usize, flow: &FlowSpec) -> Result<Controller, SpecError> {
    elephan_cc::build(&flow.algorithm, &parameters(flow)).map_err(|e| refused(index, &e))
}

/// Builds the controllers of a run's flows in their order, as [`controller`] does. Equal flows get copies of one
/// controller, so the parameters of a group of flows are read only once.
pub fn controllers() -> impl FnMut(usize, &FlowSpec) -> Result<Controller, SpecError> {
    let mut last: Option<(FlowSpec, Controller)> = None;
    move |index, flow| {
        let same = last
            .as_ref()
            .filter(|(before, _)| (&before.algorithm, &before.parameters) == (&flow.algorithm, &flow.parameters));
        if let Some(copy) = same.and_then(|(_, built)| built.try_clone()) {
            return Ok(copy);
        }
        let built = controller(index, flow)?;
        last = built.try_clone().map(|copy| (flow.clone(), copy));
        Ok(built)
    }
}

/// Builds the rate control of a UDT flow.
///
/// # Errors
/// The errors of [`controller`].
pub(crate) fn udt_control(index: usize, flow: &FlowSpec) -> Result<elephan_cc::udt::Udt, SpecError> {
    elephan_cc::build_udt(&flow.algorithm, &parameters(flow)).map_err(|e| refused(index, &e))
}

/// Rejects an algorithm that cannot be built, or whose path lacks the routers that the algorithm needs.
///
/// # Errors
/// The errors of [`controller`].
fn check_algorithm(spec: &Spec, index: usize, flow: &FlowSpec) -> Result<(), SpecError> {
    if flow.is_udt() {
        udt_control(index, flow).map(|_| ())
    } else if flow.datagrams || flow.foreign.is_some() {
        Ok(())
    } else {
        check_routers(spec, &format!("flows[{index}]"), flow, controller(index, flow)?.needs().router)
    }
}

/// Values of a flow's parameters.
#[must_use]
pub fn parameters(flow: &FlowSpec) -> BTreeMap<String, Value> {
    flow.parameters.iter().map(|(name, json)| (name.clone(), value_of(json))).collect()
}

/// Error of a flow whose algorithm cannot be built.
fn refused(index: usize, error: &BuildError) -> SpecError {
    let Problem { parameter, message, .. } = error.problem();
    match parameter {
        Some(name) => SpecError::new(format!("flows[{index}].parameters.{name}"), message.clone()),
        None => SpecError::new(format!("flows[{index}].algorithm"), error.to_string()),
    }
}

/// Rejects an algorithm that needs routers of a certain kind if the path of its data has none.
pub(crate) fn check_routers(
    spec: &Spec,
    place: &str,
    flow: &FlowSpec,
    router: Option<Router>,
) -> Result<(), SpecError> {
    let Some(router) = router else { return Ok(()) };
    if flow.path.iter().any(|&link| spec.links[link].queue.router() == Some(router)) {
        return Ok(());
    }
    let name = router.as_str();
    let message =
        format!("'{}' needs {name} routers, and no link on its path has one; write queue = \"{name}\"", flow.algorithm);
    Err(SpecError::new(format!("{place}.algorithm"), message))
}

/// Rejects unknown algorithms, wrong parameters, and algorithms without the routers that they need. A user's own
/// algorithms are not checked.
///
/// # Errors
/// The first error found.
pub fn check_algorithms(spec: &Spec) -> Result<(), SpecError> {
    for (index, flow) in spec.flows.iter().enumerate().filter(|(_, flow)| flow.source_sha256.is_none()) {
        check_algorithm(spec, index, flow)?;
    }
    for (index, source) in spec.traffic.iter().enumerate().filter(|(_, source)| source.flow.source_sha256.is_none()) {
        source_controller(spec, index, &source.flow)?;
    }
    Ok(())
}

/// Builds the congestion control for the transfers of a source, and checks that the path has the routers that the
/// algorithm needs.
pub(crate) fn source_controller(spec: &Spec, index: usize, flow: &FlowSpec) -> Result<Controller, SpecError> {
    let place = format!("traffic[{index}]");
    let of_source = |e: SpecError| SpecError::new(e.path.replacen("flows", "traffic", 1), e.message);
    let controller = controller(index, flow).map_err(of_source)?;
    check_routers(spec, &place, flow, controller.needs().router)?;
    Ok(controller)
}
