//! Who gets an answer: looked at before anything else of a request.
//!
//! Against whom: see the crate's page. INVARIANT: only [`Guard::admits`] says that a request may have data, and only with a session's secret; the
//! shell that others get holds none.

use std::hint::black_box;
use std::io;
use std::sync::{Mutex, PoisonError};

use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::{Method, StatusCode, Uri, Version};
use toolgate_evidence::random::fill_with_random;

/// The header that a session's secret comes in. No form, link or picture of another page can send it.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("x-toolgate-session");
/// The header that the one-time token comes in.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-toolgate-token");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// So many pages can be open; the oldest is closed for one more.
const MOST_SESSIONS: usize = 16;

/// What cannot be guessed: 32 random bytes, as text.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new() -> io::Result<Secret> {
        let mut bytes = [0_u8; 32];
        fill_with_random(&mut bytes)?;
        let mut text = String::with_capacity(64);
        for byte in bytes {
            text.push_str(&format!("{byte:02x}"));
        }
        Ok(Secret(text))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether this is it. Takes as long whatever is wrong with it.
    fn is(&self, given: &HeaderValue) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let differs =
            own.iter().zip(given).fold(0_u8, |differs, (one, other)| black_box(differs | (one ^ other)));
        own.len() == given.len() && differs == 0
    }
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The empty page, its script and its style, which are the same for everybody.
    Shell,
    /// To exchange the token for a session's secret.
    Exchange,
    /// Data.
    Data,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The request is for another host, or names none.
    Host,
    /// Another page has sent it.
    Origin,
    /// No secret, or a wrong one.
    Secret,
    /// The way of asking.
    Method,
    /// Something that no browser sends.
    Form,
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Refusal::Host => StatusCode::MISDIRECTED_REQUEST,
            Refusal::Origin => StatusCode::FORBIDDEN,
            Refusal::Secret => StatusCode::UNAUTHORIZED,
            Refusal::Method => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::Form => StatusCode::BAD_REQUEST,
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Refusal::Host => "this is not the address of the page",
            Refusal::Origin => "another page has sent this",
            Refusal::Secret => "open the address that `toolgate dashboard` has printed; each works once",
            Refusal::Method => "this is not asked for in that way",
            Refusal::Form => "this is not a request of a browser",
        }
    }
}

/// What is compared with requests.
pub(crate) struct Guard {
    /// `127.0.0.1:PORT`
    authority: String,
    secrets: Mutex<Secrets>,
}

#[derive(Default)]
struct Secrets {
    /// The address that was not used yet.
    token: Option<Secret>,
    sessions: Vec<Secret>,
}

impl Guard {
    pub(crate) fn new(port: u16) -> Guard {
        Guard { authority: format!("127.0.0.1:{port}"), secrets: Mutex::default() }
    }

    /// An address by which a page can be opened once. The one before it cannot be used any more.
    pub(crate) fn address(&self) -> io::Result<String> {
        let token = Secret::new()?;
        let address = format!("http://{}/#{}", self.authority, token.text());
        self.secrets().token = Some(token);
        Ok(address)
    }

    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    fn secrets(&self) -> std::sync::MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request may have what it wants.
    pub(crate) fn admits(
        &self,
        wanted: Wanted,
        method: &Method,
        version: Version,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        if version != Version::HTTP_11 || uri.authority().is_some() || uri.scheme().is_some() {
            return Err(Refusal::Form);
        }
        // A name that leads here is not this address: a page of that name could read the answer.
        if only(headers, &HOST).is_none_or(|host| host.as_bytes() != self.authority.as_bytes()) {
            return Err(Refusal::Host);
        }
        let own = format!("http://{}", self.authority);
        if headers.get_all(ORIGIN).iter().any(|origin| origin.as_bytes() != own.as_bytes()) {
            return Err(Refusal::Origin);
        }
        let is_typed = |site: &[u8]| wanted == Wanted::Shell && site == b"none";
        let sites = headers.get_all(FETCH_SITE);
        if sites.iter().any(|site| site.as_bytes() != b"same-origin" && !is_typed(site.as_bytes())) {
            return Err(Refusal::Origin);
        }
        match (wanted, method) {
            (Wanted::Shell, &Method::GET) => Ok(()),
            // Browsers say where every such request comes from.
            (Wanted::Exchange, &Method::POST) if headers.contains_key(ORIGIN) => Ok(()),
            (Wanted::Exchange, &Method::POST) => Err(Refusal::Origin),
            (Wanted::Data, &Method::POST) if !headers.contains_key(ORIGIN) => Err(Refusal::Origin),
            (Wanted::Data, &Method::GET | &Method::POST) => {
                let given = only(headers, &SESSION).ok_or(Refusal::Secret)?;
                let secrets = self.secrets();
                // All are compared, whichever it is.
                let known = secrets.sessions.iter().filter(|secret| secret.is(given)).count();
                if known > 0 { Ok(()) } else { Err(Refusal::Secret) }
            }
            _ => Err(Refusal::Method),
        }
    }

    /// A session's secret for the token, which is used up by that.
    pub(crate) fn exchange(&self, headers: &HeaderMap) -> Result<Secret, Refusal> {
        let given = only(headers, &TOKEN).ok_or(Refusal::Secret)?;
        let session = Secret::new().map_err(|_| Refusal::Secret)?;
        let mut secrets = self.secrets();
        if !secrets.token.as_ref().is_some_and(|token| token.is(given)) {
            return Err(Refusal::Secret);
        }
        secrets.token = None;
        secrets.sessions.push(session.clone());
        if secrets.sessions.len() > MOST_SESSIONS {
            secrets.sessions.remove(0);
        }
        Ok(session)
    }
}

/// The value of a header that is there once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn who_gets_what() {
        use Refusal::{Form, Host, Method as Way, Origin, Secret as Unknown};
        use Wanted::{Data, Exchange, Shell};
        const OWN: (&str, &str) = ("host", "127.0.0.1:7777");
        const FROM: (&str, &str) = ("origin", "http://127.0.0.1:7777");
        let guard = Guard::new(7777);
        let address = guard.address().unwrap();
        let token = address.split_once('#').unwrap().1;
        let session = guard.exchange(&headers(&[("x-toolgate-token", token)])).unwrap();
        let key = ("x-toolgate-session", session.text());
        let wrong = "0".repeat(64);
        let (get, post) = (Method::GET, Method::POST);
        for (wanted, method, uri, given, said) in [
            (Shell, &get, "/", vec![OWN], Ok(())),
            (Shell, &get, "/", vec![OWN, ("sec-fetch-site", "none")], Ok(())),
            (Shell, &get, "/", vec![OWN, ("sec-fetch-site", "cross-site")], Err(Origin)),
            (Shell, &get, "/", vec![OWN, ("sec-fetch-site", "same-site")], Err(Origin)),
            (Shell, &get, "/", vec![], Err(Host)),
            (Shell, &get, "/", vec![OWN, OWN], Err(Host)),
            (Shell, &get, "/", vec![("host", "localhost:7777")], Err(Host)),
            (Shell, &get, "/", vec![("host", "evil.example:7777")], Err(Host)),
            (Shell, &get, "/", vec![("host", "127.0.0.1")], Err(Host)),
            (Shell, &get, "http://127.0.0.1:7777/", vec![OWN], Err(Form)),
            (Shell, &post, "/", vec![OWN, FROM], Err(Way)),
            (Exchange, &post, "/session", vec![OWN, FROM], Ok(())),
            (Exchange, &post, "/session", vec![OWN], Err(Origin)),
            (Exchange, &post, "/session", vec![OWN, ("origin", "null")], Err(Origin)),
            (Exchange, &get, "/session", vec![OWN], Err(Way)),
            (Data, &get, "/page/", vec![OWN, key], Ok(())),
            (Data, &get, "/page/", vec![OWN, key, ("sec-fetch-site", "none")], Err(Origin)),
            (Data, &get, "/page/", vec![OWN, key, ("origin", "http://127.0.0.1:7778")], Err(Origin)),
            (Data, &get, "/page/", vec![OWN, key, FROM, ("origin", "http://evil.example")], Err(Origin)),
            (Data, &get, "/page/", vec![OWN], Err(Unknown)),
            (Data, &get, "/page/", vec![OWN, key, key], Err(Unknown)),
            (Data, &get, "/page/", vec![OWN, ("x-toolgate-session", token)], Err(Unknown)),
            (Data, &get, "/page/", vec![OWN, ("x-toolgate-session", "")], Err(Unknown)),
            (Data, &get, "/page/", vec![OWN, ("x-toolgate-session", &wrong)], Err(Unknown)),
            (Data, &post, "/page/", vec![OWN, FROM, key], Ok(())),
            (Data, &post, "/page/", vec![OWN, key], Err(Origin)),
            (Data, &Method::PUT, "/page/", vec![OWN, FROM, key], Err(Way)),
        ] {
            let uri: Uri = uri.parse().unwrap();
            let found = guard.admits(wanted, method, Version::HTTP_11, &uri, &headers(&given));
            assert_eq!(found, said, "{wanted:?} {method} {uri} {given:?}");
        }
        let old = guard.admits(Shell, &get, Version::HTTP_10, &"/".parse().unwrap(), &headers(&[OWN]));
        assert_eq!(old, Err(Form));
    }

    #[test]
    fn a_token_works_once_and_only_the_last_one() {
        let guard = Guard::new(1);
        let token = |address: &str| address.split_once('#').unwrap().1.to_owned();
        let exchange = |token: &str| guard.exchange(&headers(&[("x-toolgate-token", token)])).is_ok();
        let first = token(&guard.address().unwrap());
        let second = token(&guard.address().unwrap());
        assert!(!exchange(&first), "another one was printed since");
        assert!(!exchange(""));
        assert!(!exchange(second.get(1..).unwrap()));
        assert!(exchange(&second));
        assert!(!exchange(&second), "used");
        assert!(guard.exchange(&HeaderMap::new()).is_err());
    }

    #[test]
    fn the_oldest_page_is_closed_for_one_more() {
        let guard = Guard::new(1);
        let open = || {
            let address = guard.address().unwrap();
            let token = address.split_once('#').unwrap().1;
            guard.exchange(&headers(&[("x-toolgate-token", token)])).unwrap()
        };
        let sessions: Vec<Secret> = (0..=MOST_SESSIONS).map(|_| open()).collect();
        let is_open = |session: &Secret| {
            let given = headers(&[("host", "127.0.0.1:1"), ("x-toolgate-session", session.text())]);
            guard.admits(Wanted::Data, &Method::GET, Version::HTTP_11, &"/".parse().unwrap(), &given).is_ok()
        };
        assert!(!is_open(&sessions[0]));
        assert!(sessions[1..].iter().all(is_open));
    }
}
