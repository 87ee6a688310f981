//! The list, and what is decided by it.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::address::{Range, is_public};
use crate::name::{Host, Name};

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject {
    /// One name.
    Name(Name),
    /// All names below one.
    Below(Name),
    /// Addresses.
    Addresses(Range),
}

impl Subject {
    /// Reads a name, or `*.NAME` for all names below it. A wildcard stands for whole labels on the left, and below something: `*` alone
    /// would be `all` by another word.
    pub fn name(text: &str) -> Option<Subject> {
        match text.strip_prefix("*.") {
            Some(top) => Name::parse(top).map(Subject::Below),
            None => Name::parse(text).map(Subject::Name),
        }
    }

    fn fits(&self, host: &Host) -> bool {
        match (self, host) {
            (Subject::Name(listed), Host::Name(name)) => listed == name,
            (Subject::Below(top), Host::Name(name)) => name.is_below(top),
            (Subject::Addresses(range), Host::Address(address)) => range.holds(*address),
            (Subject::Addresses(_), Host::Name(_))
            | (Subject::Name(_) | Subject::Below(_), Host::Address(_)) => false,
        }
    }
}

/// What is open to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which hosts.
    pub subject: Subject,
    /// Which of their ports.
    pub ports: Vec<u16>,
    /// The methods of HTTP that are open; empty: all. Only plain HTTP shows them, so an entry that has any opens nothing else.
    pub methods: Vec<String>,
    /// The same for what the path begins with.
    pub paths: Vec<String>,
    /// Where a name leads. Empty: where the machine's resolver says, as far as that is public.
    pub addresses: Vec<IpAddr>,
}

impl Default for Entry {
    /// One that opens nothing.
    fn default() -> Self {
        let subject = Subject::Addresses(Range::of(IpAddr::from([0, 0, 0, 0])));
        Entry { subject, ports: Vec::new(), methods: Vec::new(), paths: Vec::new(), addresses: Vec::new() }
    }
}

/// What is known of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'r> {
    /// Nothing yet: whether there is any use in connecting.
    Any,
    /// It cannot be seen.
    Unseen,
    /// Plain HTTP.
    Http {
        /// The method.
        method: &'r str,
        /// The path, from the first slash.
        path: &'r str,
    },
}

impl Entry {
    fn opens(&self, host: &Host, port: u16, request: Request<'_>) -> bool {
        self.subject.fits(host)
            && self.ports.contains(&port)
            && match request {
                Request::Any => true,
                Request::Unseen => self.methods.is_empty() && self.paths.is_empty(),
                Request::Http { method, path } => {
                    (self.methods.is_empty() || self.methods.iter().any(|listed| listed == method))
                        && (self.paths.is_empty()
                            || is_plain_path(path) && self.paths.iter().any(|listed| begins(path, listed)))
                }
            }
    }
}

/// Whether a server cannot read a path in another way than we do: one with a step up, or with encoded letters, may lead anywhere.
fn is_plain_path(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let is_step = |part: &str| part == "." || part == "..";
    !path.contains(['%', '\\', ';']) && !path.contains("//") && !path.split('/').any(is_step)
}

/// By whole parts: `/simple` opens `/simple/x`, not `/simpler`.
fn begins(path: &str, listed: &str) -> bool {
    let rest = path.strip_prefix(listed);
    rest.is_some_and(|rest| listed.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '?']))
}

/// What one layer of settings lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// What is open.
    pub entries: Vec<Entry>,
}

impl List {
    fn leads(&self, name: &Name) -> Vec<IpAddr> {
        let host = Host::Name(name.clone());
        let of_name = self.entries.iter().filter(|entry| entry.subject.fits(&host));
        of_name.flat_map(|entry| &entry.addresses).map(IpAddr::to_canonical).collect()
    }
}

/// What is listed in all layers. A connection has to be open in each of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lists {
    layers: Vec<List>,
}

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlisted {
    /// Nothing is open to the host at all.
    Host,
    /// Not this port of it.
    Port,
    /// Not what was asked for there, or what cannot be seen.
    Request,
}

impl fmt::Display for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unlisted::Host => "it is not listed",
            Unlisted::Port => "this port of it is not listed",
            Unlisted::Request => "what was asked for is not listed",
        })
    }
}

impl Lists {
    /// Lists that all have to agree. None at all: nothing is open.
    pub fn new(layers: Vec<List>) -> Lists {
        Lists { layers }
    }

    /// Decides about a connection.
    pub fn judge(&self, host: &Host, port: u16, request: Request<'_>) -> Result<(), Unlisted> {
        let all = |opens: &dyn Fn(&Entry) -> bool| {
            !self.layers.is_empty() && self.layers.iter().all(|list| list.entries.iter().any(opens))
        };
        if all(&|entry| entry.opens(host, port, request)) {
            Ok(())
        } else if !all(&|entry| entry.subject.fits(host)) {
            Err(Unlisted::Host)
        } else if !all(&|entry| entry.opens(host, port, Request::Any)) {
            Err(Unlisted::Port)
        } else {
            Err(Unlisted::Request)
        }
    }

    /// Whether anything is open to a name, so that it may be looked up.
    pub fn knows(&self, name: &Name) -> bool {
        let host = Host::Name(name.clone());
        let knows = |list: &List| {
            list.entries.iter().any(|entry| entry.subject.fits(&host) && !entry.ports.is_empty())
        };
        !self.layers.is_empty() && self.layers.iter().all(knows)
    }

    /// Where a name leads by the words of the list itself. `None`: where a resolver says.
    pub fn leads(&self, name: &Name) -> Option<Vec<IpAddr>> {
        let named = self.layers.iter().map(|list| list.leads(name)).filter(|addresses| !addresses.is_empty());
        named.reduce(|one, other| one.into_iter().filter(|address| other.contains(address)).collect())
    }

    /// Whether an address may be dialled for a name. One that is not public only where each layer has it by its own word: as an address of
    /// this name, or as a listed address.
    pub fn may_dial(&self, name: &Name, address: IpAddr, port: u16) -> bool {
        let host = Host::of(address);
        self.layers.iter().all(|list| {
            let led = list.leads(name);
            let is_listed = || list.entries.iter().any(|entry| entry.opens(&host, port, Request::Any));
            if led.is_empty() { is_public(address) || is_listed() } else { led.contains(&address) }
        })
    }

    /// All ports that any entry opens.
    pub fn ports(&self) -> BTreeSet<u16> {
        self.layers
            .iter()
            .flat_map(|list| &list.entries)
            .flat_map(|entry| entry.ports.iter().copied())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Unlisted::{Host as H, Port as P};
    use super::*;

    fn entry(subject: &str, ports: &[u16]) -> Entry {
        let subject =
            Range::parse(subject).map_or_else(|| Subject::name(subject).unwrap(), Subject::Addresses);
        Entry { subject, ports: ports.to_vec(), ..Entry::default() }
    }

    fn lists(layers: Vec<Vec<Entry>>) -> Lists {
        Lists::new(layers.into_iter().map(|entries| List { entries }).collect())
    }

    #[test]
    fn a_connection_is_open_where_every_layer_opens_it() {
        let one = vec![
            entry("*.example.com", &[443, 80]),
            entry("git.example", &[22]),
            entry("10.0.0.0/8", &[5432]),
        ];
        let other = vec![
            entry("a.example.com", &[443]),
            entry("git.example", &[22, 443]),
            entry("10.1.0.0/16", &[5432]),
        ];
        let (alone, both, none) = (lists(vec![one.clone()]), lists(vec![one, other]), Lists::default());
        for (host, port, in_one, in_both) in [
            ("a.example.com", 443, Ok(()), Ok(())),
            ("A.Example.COM.", 443, Ok(()), Ok(())),
            ("b.example.com", 443, Ok(()), Err(H)),
            ("a.example.com", 80, Ok(()), Err(P)),
            ("a.example.com", 22, Err(P), Err(P)),
            ("example.com", 443, Err(H), Err(H)),
            ("a.example.com.evil.example", 443, Err(H), Err(H)),
            ("git.example", 22, Ok(()), Ok(())),
            ("git.example", 443, Err(P), Err(P)),
            ("10.1.2.3", 5432, Ok(()), Ok(())),
            ("::ffff:10.1.2.3", 5432, Ok(()), Ok(())),
            ("10.2.2.3", 5432, Ok(()), Err(H)),
            ("11.0.0.1", 5432, Err(H), Err(H)),
        ] {
            let parsed = Host::parse(host).unwrap();
            assert_eq!(alone.judge(&parsed, port, Request::Unseen), in_one, "{host}:{port}");
            assert_eq!(both.judge(&parsed, port, Request::Unseen), in_both, "{host}:{port}");
            assert_eq!(none.judge(&parsed, port, Request::Unseen), Err(H), "{host}:{port}");
        }
        assert!(
            alone.knows(&Name::parse("b.example.com").unwrap())
                && !both.knows(&Name::parse("b.example.com").unwrap())
        );
    }

    #[test]
    fn methods_and_paths_open_plain_http_alone() {
        let mut narrow = entry("files.example", &[80]);
        narrow.methods = vec!["GET".to_owned()];
        narrow.paths = vec!["/simple".to_owned(), "/files/".to_owned()];
        let lists = lists(vec![vec![narrow]]);
        let host = Host::parse("files.example").unwrap();
        let judge = |method, path| lists.judge(&host, 80, Request::Http { method, path });
        for (method, path, open) in [
            ("GET", "/simple", true),
            ("GET", "/simple/x?y=/../z", true),
            ("GET", "/simple?x", true),
            ("GET", "/files/a", true),
            ("GET", "/files", false),
            ("GET", "/simpler", false),
            ("GET", "/simple/../secret", false),
            ("GET", "/simple/%2e%2e/secret", false),
            ("GET", "/simple/..\\x", false),
            ("GET", "/simple//x", false),
            ("GET", "/simple/..;/x", false),
            ("get", "/simple", false),
            ("POST", "/simple", false),
            ("GET", "/", false),
        ] {
            assert_eq!(judge(method, path).is_ok(), open, "{method} {path}");
        }
        assert_eq!(lists.judge(&host, 80, Request::Unseen), Err(Unlisted::Request));
        assert_eq!(lists.judge(&host, 80, Request::Any), Ok(()));
    }

    #[test]
    fn a_name_leads_to_nothing_private_unless_that_is_listed() {
        let name = |text| Name::parse(text).unwrap();
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut pinned = entry("db.example", &[5432]);
        pinned.addresses = vec![address("10.0.0.5")];
        let (db, other) = (name("db.example"), name("other.example"));
        let own = vec![pinned.clone(), entry("192.168.1.0/24", &[80])];
        let lists = |layers: Vec<Vec<Entry>>| super::tests::lists(layers);
        let alone = lists(vec![own.clone()]);
        assert_eq!(alone.leads(&db), Some(vec![address("10.0.0.5")]));
        assert_eq!(alone.leads(&other), None);
        assert!(
            alone.may_dial(&db, address("10.0.0.5"), 5432) && !alone.may_dial(&db, address("1.1.1.1"), 5432)
        );
        assert!(
            alone.may_dial(&other, address("1.1.1.1"), 9)
                && alone.may_dial(&other, address("192.168.1.9"), 80)
        );
        for (text, port) in [
            ("192.168.1.9", 81),
            ("192.168.2.9", 80),
            ("169.254.169.254", 80),
            ("127.0.0.1", 80),
            ("::1", 80),
            ("10.0.0.5", 5432),
        ] {
            assert!(!alone.may_dial(&other, address(text), port), "{text}");
        }
        // A layer that pins nothing lets nobody else pin a private address for it.
        let weakened = lists(vec![vec![entry("db.example", &[5432])], own]);
        assert!(!weakened.may_dial(&db, address("10.0.0.5"), 5432));
    }

    #[test]
    fn a_wildcard_stands_on_the_left_of_something() {
        for text in ["*", "*.", "a.*", "*a.example", "*.*.example", "**.example", "a.*.example"] {
            assert_eq!(Subject::name(text), None, "{text}");
        }
        assert_eq!(Subject::name("*.Example.com"), Some(Subject::Below(Name::parse("example.com").unwrap())));
    }
}
