//! Which hosts a program in a sandbox may reach, and the way there.
//!
//! A [`Lists`] says what is listed: names, with a wildcard on the left, and addresses, each with ports. [`Lists::judge`] decides about one
//! connection. It asks no disk, no resolver and no clock, so a decision can be tried out in a test. What it is asked about has been
//! read strictly: a [`Name`] or an address in any other than its plain form is neither.
//!
//! The proxy (`proxy::serve`, Linux) takes the connections of a network namespace that has no other way out. Against whom: the program in
//! there. It chooses every byte that it sends, and the names that it asks for; so the proxy alone looks names up, dials the addresses
//! that it has checked, and passes on nothing of a request that it has not understood. It ends no TLS: of an encrypted connection it
//! sees the name that the client asks for, and bytes.
//!
//! ```
//! use toolgate_egress::{Entry, Host, List, Lists, Request, Subject};
//!
//! let subject = Subject::name("*.example.com").unwrap();
//! let lists = Lists::new(vec![List { entries: vec![Entry { subject, ports: vec![443], ..Entry::default() }] }]);
//! let judge = |host: &str, port| lists.judge(&Host::parse(host).unwrap(), port, Request::Unseen).is_ok();
//! assert!(judge("files.example.com", 443));
//! assert!(!judge("files.example.com", 22));
//! assert!(!judge("example.com.evil.example", 443));
//! ```

mod address;
mod dns;
mod head;
mod hello;
mod list;
mod name;
#[cfg(all(feature = "proxy", target_os = "linux"))]
pub mod proxy;

pub use address::{Range, is_public};
pub use list::{Entry, List, Lists, Request, Subject, Unlisted};
pub use name::{Host, Name};

/// The readers of what a program sends, for tests that feed them anything.
#[doc(hidden)]
pub mod readers {
    pub use crate::dns::{Question, Reply, question};
    pub use crate::head::{Body, Chunks, Head, Target, head};
    pub use crate::hello::{Hello, hello};
}
