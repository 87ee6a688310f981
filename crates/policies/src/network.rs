//! `[network]`: what contained programs may reach.
//!
//! Like [`containment`](crate::containment), no policy: it objects to no call. The list is a closed one. What a repository's own file says of it
//! can only tighten: `crates/setup/src/compile.rs` takes out the rest.

use std::collections::BTreeSet;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_egress::{Entry, List, Range, Subject};

/// `[network]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct NetworkSettings {
    /// What contained commands may reach over the network.
    pub mode: NetworkMode,
    /// With `mode = "listed"`: the hosts that they may reach.
    pub host: Vec<HostEntry>,
}

/// What contained commands may reach over the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Nothing outside of the sandbox.
    None,
    /// The hosts of `[[network.host]]`. Needs level `full`.
    Listed,
    /// Everything: builds fetch what they need.
    #[default]
    All,
}

/// `[[network.host]]`: a host that contained commands may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HostEntry {
    /// A name, or `*.example.com` for all names below one.
    pub name: String,
    /// Instead of a name: an address, or a range such as `10.0.0.0/8`.
    pub address: String,
    /// The ports. Left out: 80 and 443.
    pub ports: Vec<u16>,
    /// The methods of HTTP that are open; left out: all. Only plain HTTP shows them, so an entry with methods opens nothing else.
    pub methods: Vec<String>,
    /// What the path begins with, by whole parts; left out: any path. Only plain HTTP shows it.
    pub paths: Vec<String>,
    /// Where the name leads. Left out: where this machine's resolver says, as far as the address is public or listed itself.
    pub addresses: Vec<String>,
}

/// What a web server listens on.
const USUAL_PORTS: [u16; 2] = [80, 443];
/// Where names are asked for inside of a sandbox.
const PORT_OF_NAMES: u16 = 53;
/// Each port is a listener in every sandbox.
pub(crate) const MOST_PORTS: usize = 64;
const MOST_ENTRIES: usize = 1000;

impl NetworkSettings {
    /// What is listed. What cannot be used was refused when the settings were read.
    pub(crate) fn list(&self) -> List {
        List { entries: self.host.iter().filter_map(|entry| entry.entry().ok()).collect() }
    }

    /// Says what cannot be used.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.host.len() > MOST_ENTRIES {
            return Err("more than 1000 entries of one kind".to_owned());
        }
        let mut ports = BTreeSet::new();
        for entry in &self.host {
            ports.extend(entry.entry()?.ports);
        }
        if ports.len() > MOST_PORTS {
            return Err(format!("`[[network.host]]` names more than {MOST_PORTS} ports in all"));
        }
        Ok(())
    }
}

impl HostEntry {
    fn entry(&self) -> Result<Entry, String> {
        let Self { name, address, .. } = self;
        let subject = match (name.as_str(), address.as_str()) {
            ("", "") => return Err("an entry of `[[network.host]]` needs `name` or `address`".to_owned()),
            (name, "") => Subject::name(name).ok_or_else(|| {
                format!(
                    "`{name}` in `[[network.host]]` is no plain name: use letters, digits and `-` (`xn--…` for others), with `*.` on the \
                     left for all names below; an address goes into `address`"
                )
            })?,
            ("", address) => Subject::Addresses(Range::parse(address).ok_or_else(|| {
                format!("`{address}` in `[[network.host]]` is no address in its plain form, nor a range such as `10.0.0.0/8`")
            })?),
            (name, _) => return Err(format!("the entry `{name}` of `[[network.host]]` has a name and an address; make two of it")),
        };
        let shown = if name.is_empty() { address } else { name };
        let ports = if self.ports.is_empty() { USUAL_PORTS.to_vec() } else { self.ports.clone() };
        if ports.contains(&0) || ports.contains(&PORT_OF_NAMES) {
            return Err(format!(
                "the entry `{shown}` of `[[network.host]]` names port 0 or 53: toolgate answers for names itself"
            ));
        }
        let is_method =
            |method: &String| !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
        if let Some(method) = self.methods.iter().find(|method| !is_method(method)) {
            return Err(format!("`{method}` in `[[network.host]]` is no method such as `GET`"));
        }
        if let Some(path) = self.paths.iter().find(|path| !path.starts_with('/')) {
            return Err(format!("`{path}` in `[[network.host]]` must begin with `/`"));
        }
        if !self.addresses.is_empty() && name.is_empty() {
            return Err(format!(
                "the entry `{shown}` of `[[network.host]]` has `addresses`, which is for names"
            ));
        }
        let addresses = self.addresses.iter().map(|text| {
            let address: Result<IpAddr, _> = text.parse();
            address.map_err(|_| format!("`{text}` in `[[network.host]]` is no address in its plain form"))
        });
        let addresses = addresses.collect::<Result<_, _>>()?;
        Ok(Entry { subject, ports, methods: self.methods.clone(), paths: self.paths.clone(), addresses })
    }
}

#[cfg(test)]
#[cfg(feature = "files")]
mod tests {
    use super::*;

    fn checked(entry: &str) -> Result<(), String> {
        let text = format!("mode = \"listed\"\n[[host]]\n{entry}");
        toml::from_str::<NetworkSettings>(&text).unwrap_or_else(|error| panic!("{text}: {error}")).check()
    }

    #[test]
    fn entries_that_cannot_be_used_are_refused_with_a_reason() {
        for (entry, complaint) in [
            ("", "needs `name` or `address`"),
            ("name = \"*\"", "`*` in `[[network.host]]` is no plain name"),
            ("name = \"a.*.example\"", "is no plain name"),
            ("name = \"bücher.example\"", "is no plain name"),
            ("name = \"127.1\"", "is no plain name"),
            ("name = \"a.example:443\"", "is no plain name"),
            ("name = \"https://a.example\"", "is no plain name"),
            ("address = \"a.example\"", "is no address"),
            ("address = \"10.0.0.1/8\"", "is no address"),
            ("name = \"a.example\"\naddress = \"10.0.0.1\"", "make two of it"),
            ("name = \"a.example\"\nports = [0]", "port 0 or 53"),
            ("name = \"a.example\"\nports = [53]", "port 0 or 53"),
            ("name = \"a.example\"\nmethods = [\"get\"]", "is no method"),
            ("name = \"a.example\"\npaths = [\"x\"]", "must begin with `/`"),
            ("name = \"a.example\"\naddresses = [\"10.0.0.0/8\"]", "is no address"),
            ("address = \"10.0.0.1\"\naddresses = [\"10.0.0.1\"]", "which is for names"),
        ] {
            let told = checked(entry).expect_err(entry);
            assert!(told.contains(complaint), "{entry}: {told}");
        }
        let many = (1..=65).map(|port: u16| format!("{}", 1000 + port)).collect::<Vec<_>>().join(", ");
        assert!(
            checked(&format!("name = \"a.example\"\nports = [{many}]"))
                .unwrap_err()
                .contains("more than 64 ports")
        );
        for entry in [
            "name = \"*.a.example\"",
            "address = \"10.0.0.0/8\"\nports = [5432]",
            "name = \"a.example\"\naddresses = [\"::1\"]",
        ] {
            assert_eq!(checked(entry), Ok(()), "{entry}");
        }
    }
}
