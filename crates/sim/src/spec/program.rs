//! A program on the hosts of a path, in place of an endpoint of the engine.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A client and its server, which a host of the engine's caller runs. The engine only carries their packets.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// Command of the server; empty if the server is another program's.
    #[serde(default)]
    pub server: Vec<String>,
    /// Name of the flow whose server this program uses.
    #[serde(default)]
    pub server_of: Option<String>,
    /// Command of the client.
    pub client: Vec<String>,
    /// Environment variables of both.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Port of the server.
    pub port: u16,
    /// Text in the server's output that shows that it is ready; a listening port if absent.
    #[serde(default)]
    pub ready: Option<String>,
    /// Amount of data that the commands name, bytes.
    pub bytes: u64,
    /// True if the client is the host at the beginning of the path, so that its packets take the forward path.
    pub client_sends: bool,
    /// SHA-256 of the files that the commands name.
    pub sha256: String,
}
