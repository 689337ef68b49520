//! From the algorithm that a spec names to a congestion control.

use std::collections::BTreeMap;

use elephan_cc::{Algorithm, Controller, Router, Value};

use crate::spec::{FlowSpec, Spec, SpecError};

/// The congestion control of a TCP flow.
///
/// # Errors
/// An unknown algorithm, preset or parameter, or a value out of range.
pub fn controller(index: usize, flow: &FlowSpec) -> Result<Controller, SpecError> {
    let parameters = parameters(index, flow)?;
    elephan_cc::build(&flow.algorithm, &parameters)
        .map_err(|e| SpecError::new(format!("flows[{index}].algorithm"), e.to_string()))
}

/// The rate control of a flow of UDT.
///
/// # Errors
/// As [`controller`].
pub(crate) fn udt_control(index: usize, flow: &FlowSpec) -> Result<elephan_cc::udt::Udt, SpecError> {
    elephan_cc::build_udt(&flow.algorithm, &parameters(index, flow)?)
        .map_err(|e| SpecError::new(format!("flows[{index}].algorithm"), e.to_string()))
}

/// Rejects an algorithm that cannot be built, or whose routers are missing.
///
/// # Errors
/// As [`controller`].
fn check_algorithm(spec: &Spec, index: usize, flow: &FlowSpec) -> Result<(), SpecError> {
    if flow.is_udt() {
        udt_control(index, flow).map(|_| ())
    } else if flow.datagrams || flow.foreign.is_some() {
        Ok(())
    } else {
        check_routers(spec, &format!("flows[{index}]"), flow, controller(index, flow)?.needs().router)
    }
}

fn parameters(index: usize, flow: &FlowSpec) -> Result<BTreeMap<String, Value>, SpecError> {
    let mut parameters = BTreeMap::new();
    for (name, value) in &flow.parameters {
        let value = match value {
            serde_json::Value::Bool(b) => Value::Bool(*b),
            serde_json::Value::String(s) => Value::Text(s.clone()),
            serde_json::Value::Number(n) => Value::Num(n.as_f64().unwrap_or(f64::NAN)),
            other => {
                let path = format!("flows[{index}].parameters.{name}");
                return Err(SpecError::new(path, format!("{other} is not a number, a truth value or a word")));
            }
        };
        parameters.insert(name.clone(), value);
    }
    Ok(parameters)
}

/// An algorithm that needs routers of a kind must have one on the path of its data.
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

/// Rejects unknown algorithms, wrong parameters, and algorithms without the routers that they need. Algorithms of the user's own
/// are not checked.
///
/// # Errors
/// The first that is wrong.
pub fn check_algorithms(spec: &Spec) -> Result<(), SpecError> {
    for (index, flow) in spec.flows.iter().enumerate().filter(|(_, flow)| flow.source_sha256.is_none()) {
        check_algorithm(spec, index, flow)?;
    }
    for (index, source) in spec.traffic.iter().enumerate() {
        source_controller(spec, index, &source.flow)?;
    }
    Ok(())
}

/// As [`controller`], for the transfers of a source, with the routers that it needs.
pub(crate) fn source_controller(spec: &Spec, index: usize, flow: &FlowSpec) -> Result<Controller, SpecError> {
    let place = format!("traffic[{index}]");
    let controller = controller(index, flow).map_err(|e| SpecError::new(format!("{place}.algorithm"), e.message))?;
    check_routers(spec, &place, flow, controller.needs().router)?;
    Ok(controller)
}
