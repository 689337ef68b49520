//! Metrics of a run for Python.

use std::sync::{Arc, Mutex, PoisonError};

use elephan_metrics::{Ask, Data, METRICS, MetricError, Scope, Value, columns, metric, sized_transfers};
use elephan_sim::Spec;
use elephan_sim::tables::Table;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;

create_exception!(
    elephan._engine,
    UndefinedError,
    PyException,
    "A metric is not defined; args are the reason, and the unknown flow or link: ('flow', name), ('link', name) or None."
);

/// A transfer for Python: name of the flow or source, number, payload in bits, duration in s, bits on the wire, and least
/// duration in s.
type Row = (String, u64, f64, f64, f64, f64);

/// A metric for Python: name, scope, and settings with their defaults.
type Described = (&'static str, &'static str, Vec<(&'static str, f64)>);

/// The exception raised while a table was read.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// A run whose metrics can be computed: its canonical scenario, the totals of its sources of transfers, and a function
/// that returns a table by its name.
#[pyclass(frozen, module = "elephan._engine")]
pub struct Numbers {
    data: Mutex<Data<'static>>,
    raised: Raised,
}

/// Arguments of a metric; only `settings` are required.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Given {
    #[pyo3(default)]
    window: Option<(f64, f64)>,
    #[pyo3(default)]
    flows: Option<Vec<String>>,
    #[pyo3(default)]
    link: Option<String>,
    #[pyo3(default)]
    size_bytes: Option<(f64, f64)>,
    settings: Vec<(String, f64)>,
}

impl Given {
    fn ask(&self) -> Ask<'_> {
        Ask {
            window: self.window,
            flows: self.flows.as_deref(),
            link: self.link.as_deref(),
            size_bytes: self.size_bytes,
            settings: &self.settings,
        }
    }
}

#[pymethods]
impl Numbers {
    #[new]
    fn new(spec_json: &str, traffic_json: &str, table: Py<PyAny>) -> PyResult<Self> {
        // The spec was checked when its scenario was made; a saved one may be from an earlier version.
        let spec: Spec = serde_json::from_str(spec_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let traffic = serde_json::from_str(traffic_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let raised = Raised::default();
        let told = raised.clone();
        let read = move |name: &'static str| {
            let found = Python::attach(|py| read(py, &table, name));
            found.map_err(|error| *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(error)).ok()
        };
        Ok(Self { data: Mutex::new(Data::new(spec.without_groups(), traffic, Box::new(read))), raised })
    }

    /// A metric: a number, or numbers by flow. Arguments are `window`, `flows`, `link`, `size_bytes` and `settings`.
    fn value<'py>(&self, py: Python<'py>, name: &str, given: Given) -> PyResult<Bound<'py, PyAny>> {
        let found = metric(name).ok_or_else(|| PyValueError::new_err(format!("'{name}' is not a metric")))?;
        match self.of(py, |data| found.value(data, &given.ask()))? {
            Value::Number(number) => Ok(number.into_pyobject(py)?.into_any()),
            Value::Flows(flows) => {
                let numbers = PyDict::new(py);
                flows.into_iter().try_for_each(|(name, number)| numbers.set_item(name, number))?;
                Ok(numbers.into_any())
            }
        }
    }

    /// Increase of a cumulative column of a link over a window.
    fn link_counter(&self, py: Python<'_>, link: &str, column: &str, window: (f64, f64)) -> PyResult<f64> {
        self.of(py, |data| elephan_metrics::link_counter(data, link, column, window))
    }

    /// Bits that a link could have sent in a window.
    fn capacity_bits(&self, py: Python<'_>, link: &str, window: (f64, f64)) -> PyResult<f64> {
        self.of(py, |data| elephan_metrics::capacity_bits(data, link, window))
    }

    /// The link that metrics of links describe by default.
    fn bottleneck(&self, py: Python<'_>) -> PyResult<String> {
        self.of(py, |data| elephan_metrics::bottleneck(data).map(str::to_owned))
    }

    /// Names of the links that have samples, in the order of the scenario.
    fn recorded_links(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.of(py, elephan_metrics::recorded_links)
    }

    /// Single transfers that start in a window.
    fn transfers(&self, py: Python<'_>, given: Given) -> PyResult<Vec<Row>> {
        self.of(py, |data| {
            let row = |name: &str, found: &elephan_metrics::Transfer| {
                let elephan_metrics::Transfer { number, bits, duration_s, wire_bits, least_s, .. } = *found;
                (name.to_owned(), number, bits, duration_s, wire_bits, least_s)
            };
            let found = sized_transfers(data, &given.ask())?;
            Ok(found.iter().flat_map(|(name, rows)| rows.iter().map(move |found| row(name, found))).collect())
        })
    }
}

impl Numbers {
    /// Computes a number; a table may be read by Python meanwhile.
    fn of<T>(&self, py: Python<'_>, compute: impl FnOnce(&Data<'static>) -> Result<T, MetricError>) -> PyResult<T> {
        let data = self.data.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        compute(&data).map_err(|error| {
            let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
            raised.unwrap_or_else(|| refusal(&error))
        })
    }
}

/// The exception for an undefined metric.
fn refusal(error: &MetricError) -> PyErr {
    let unknown = match error {
        MetricError::NoFlow(name) => Some(("flow", name.clone())),
        MetricError::NoLink(name) => Some(("link", name.clone())),
        MetricError::Undefined(_) | MetricError::Unreadable(_) => None,
    };
    UndefinedError::new_err((error.to_string(), unknown))
}

/// One sentence for each impossible number of the flows and queues of a run; `table` returns a table by its name.
#[pyfunction]
pub fn impossible_numbers(py: Python<'_>, spec_json: &str, table: Py<PyAny>, rate_slack: f64) -> PyResult<Vec<String>> {
    Numbers::new(spec_json, "[]", table)?.of(py, |data| elephan_metrics::impossible_numbers(data, rate_slack))
}

fn read(py: Python<'_>, table: &Py<PyAny>, name: &'static str) -> PyResult<Table> {
    let (batches, _) = table.bind(py).call1((name,))?.extract::<PyTable>()?.into_inner();
    elephan_tables::columns(&batches, columns(name)).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Every metric that is computed here: its name, what it describes (`run`, `link` or `flow`), and its settings with their
/// defaults.
#[pyfunction]
pub fn metrics() -> Vec<Described> {
    let scope = |scope| match scope {
        Scope::Run => "run",
        Scope::Link => "link",
        Scope::Flow => "flow",
    };
    METRICS.iter().map(|metric| (metric.name, scope(metric.scope()), metric.settings.to_vec())).collect()
}

/// Jain's index of rates.
#[pyfunction]
pub fn jain_index(rates: Vec<f64>) -> PyResult<f64> {
    elephan_metrics::jain_index(&rates).map_err(|error| refusal(&error))
}
