//! What is asked for, and what it is answered with.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Request, Response, StatusCode};
use serde::Deserialize;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use crate::guard::{Guard, Refusal, Wanted};
use crate::hub::Hub;
use crate::log;
use crate::pages::{self, Failed, Query};
use crate::server::Marks;
use crate::{Desk, Question, live};

/// A question is no longer than this, settings included.
const LONGEST_QUESTION: usize = 256 * 1024;
/// All of it is there by then.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many pages are made at once.
const PAGES: usize = 2;
/// So many live streams are open at once.
const STREAMS: usize = 16;
/// So many requests may come at once, and so many a second.
const BURST: f64 = 200.0;
const RATE: f64 = 50.0;

const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");
const ICON: &str = include_str!("icon.svg");

pub(crate) struct Site {
    pub(crate) guard: Guard,
    hub: Arc<Hub>,
    /// What may run, is loaded and asked: by name.
    policy: HeaderValue,
    pages: Arc<Semaphore>,
    /// One question of the playground at a time: each starts a program.
    playground: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    bucket: Mutex<Bucket>,
}

/// How many requests may still come at once.
struct Bucket {
    at: Instant,
    level: f64,
}

impl Bucket {
    /// Whether one request more may be answered now.
    fn takes(&mut self, now: Instant) -> bool {
        self.level = (self.level + now.duration_since(self.at).as_secs_f64() * RATE).min(BURST);
        self.at = now;
        let has_room = self.level >= 1.0;
        if has_room {
            self.level -= 1.0;
        }
        has_room
    }
}

/// An answer: whole, or as it comes.
pub(crate) enum Answer {
    Whole(Option<Bytes>),
    Live(mpsc::Receiver<Bytes>, #[expect(dead_code, reason = "held for as long as the stream is")] Permit),
}

type Permit = tokio::sync::OwnedSemaphorePermit;

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Answer::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Answer::Live(receiver, _) => {
                receiver.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Answer::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Answer::Live(..) => SizeHint::default(),
        }
    }
}

/// What the playground is asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    command: String,
    #[serde(default)]
    root: String,
    settings: Option<String>,
    #[serde(default)]
    days: u32,
}

impl Site {
    pub(crate) fn new(desk: Arc<dyn Desk>, port: u16) -> Site {
        let guard = Guard::new(port);
        let own = guard.authority();
        let policy = format!(
            "default-src 'none'; script-src http://{own}/page.js; style-src http://{own}/page.css; img-src http://{own}/icon.svg; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
             require-trusted-types-for 'script'; trusted-types toolgate"
        );
        Site {
            // A port is digits.
            policy: HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'")),
            guard,
            hub: Hub::following(desk),
            pages: Arc::new(Semaphore::new(PAGES)),
            playground: Arc::new(Semaphore::new(1)),
            streams: Arc::new(Semaphore::new(STREAMS)),
            bucket: Mutex::new(Bucket { at: Instant::now(), level: BURST }),
        }
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>, marks: &Marks) -> Response<Answer> {
        let mut response = self.unmarked(request, marks).await;
        let headers = response.headers_mut();
        let fixed = [
            (CACHE_CONTROL, "no-store"),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (HeaderName::from_static("permissions-policy"), "clipboard-write=(self)"),
            (HeaderName::from_static("x-frame-options"), "DENY"),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        response
    }

    async fn unmarked(&self, request: Request<Incoming>, marks: &Marks) -> Response<Answer> {
        let path = request.uri().path().to_owned();
        let wanted = match path.as_str() {
            "/enter" => Wanted::Exchange,
            "/live" => Wanted::Data,
            page if page.starts_with("/page/") => Wanted::Data,
            _ => Wanted::Shell,
        };
        let admitted =
            self.guard.admits(wanted, request.method(), request.version(), request.uri(), request.headers());
        if let Err(refusal) = admitted {
            return refused(refusal);
        }
        if !self.bucket.lock().unwrap_or_else(PoisonError::into_inner).takes(Instant::now()) {
            return said(StatusCode::TOO_MANY_REQUESTS, "too many questions at once; try again in a second");
        }
        match wanted {
            Wanted::Shell => shell(&path),
            Wanted::Exchange => match self.guard.exchange(request.headers()) {
                Ok(session) => {
                    marks.is_persons.store(true, Ordering::Relaxed);
                    text(StatusCode::OK, "text/plain; charset=utf-8", session.text().to_owned())
                }
                Err(refusal) => refused(refusal),
            },
            Wanted::Data => {
                marks.is_persons.store(true, Ordering::Relaxed);
                let query = Query::of(request.uri().query().unwrap_or_default());
                match (request.method().as_str(), path.as_str()) {
                    ("GET", "/live") => self.live(&query, marks),
                    ("GET", _) => {
                        let page = path.strip_prefix("/page").unwrap_or_default().to_owned();
                        let hub = self.hub.clone();
                        self.page(self.pages.clone(), move || pages::page(&hub, &page, &query)).await
                    }
                    ("POST", "/page/playground" | "/page/replay") => {
                        let Some(asked) = question(request).await else {
                            return said(StatusCode::BAD_REQUEST, "this is not a question of the playground");
                        };
                        self.play(asked, path == "/page/replay").await
                    }
                    _ => refused(Refusal::Method),
                }
            }
        }
    }

    /// A page, made on a thread of its own: it reads the disk.
    async fn page(
        &self,
        turns: Arc<Semaphore>,
        make: impl FnOnce() -> Result<maud::Markup, Failed> + Send + 'static,
    ) -> Response<Answer> {
        let Ok(Ok(turn)) = timeout(PATIENCE, turns.acquire_owned()).await else {
            return said(StatusCode::SERVICE_UNAVAILABLE, "busy with another question; try again");
        };
        let made = tokio::task::spawn_blocking(move || {
            let made = make();
            drop(turn);
            made
        });
        match made.await {
            Ok(Ok(page)) => text(StatusCode::OK, "text/html; charset=utf-8", page.into_string()),
            Ok(Err(Failed::Missing(what))) => said(StatusCode::NOT_FOUND, &what),
            Ok(Err(Failed::Failed(why))) => said(StatusCode::INTERNAL_SERVER_ERROR, &why),
            Err(_) => said(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made"),
        }
    }

    fn live(&self, query: &Query, marks: &Marks) -> Response<Answer> {
        let Ok(permit) = self.streams.clone().try_acquire_owned() else {
            return said(StatusCode::SERVICE_UNAVAILABLE, "too many pages follow the log");
        };
        marks.is_live.store(true, Ordering::Relaxed);
        let wanted = log::Wanted { filter: query.filter(), session: query.session(), before: None };
        let receiver = live::stream(self.hub.clone(), wanted, query.number("after"));
        let mut response = Response::new(Answer::Live(receiver, permit));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        response
    }

    async fn play(&self, asked: Asked, is_replay: bool) -> Response<Answer> {
        let hub = self.hub.clone();
        let Asked { command, root, settings, days } = asked;
        self.page(self.playground.clone(), move || {
            if is_replay {
                let settings = settings.unwrap_or_default();
                return pages::replayed(hub.desk(), &settings, days);
            }
            let root = if root.is_empty() { hub.desk().here().to_path_buf() } else { root.into() };
            pages::judged(hub.desk(), &Question { command, root, settings })
        })
        .await
    }
}

/// What a page's script has sent.
async fn question(request: Request<Incoming>) -> Option<Asked> {
    let kind = request.headers().get(CONTENT_TYPE)?;
    if kind.as_bytes() != b"application/json" {
        return None;
    }
    let body = Limited::new(request.into_body(), LONGEST_QUESTION);
    let bytes = timeout(PATIENCE, body.collect()).await.ok()?.ok()?.to_bytes();
    serde_json::from_slice(&bytes).ok()
}

/// What everybody gets: the same for each page, since it holds nothing of any.
fn shell(path: &str) -> Response<Answer> {
    match path {
        "/page.js" => text(StatusCode::OK, "text/javascript; charset=utf-8", SCRIPT.to_owned()),
        "/page.css" => text(StatusCode::OK, "text/css; charset=utf-8", STYLE.to_owned()),
        "/icon.svg" => text(StatusCode::OK, "image/svg+xml", ICON.to_owned()),
        page if pages::is_page(page) => {
            text(StatusCode::OK, "text/html; charset=utf-8", pages::shell().into_string())
        }
        _ => said(StatusCode::NOT_FOUND, "there is no such page"),
    }
}

fn refused(refusal: Refusal) -> Response<Answer> {
    let mut response = said(refusal.status(), refusal.words());
    if refusal == Refusal::Method {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST"));
    }
    response
}

fn said(status: StatusCode, words: &str) -> Response<Answer> {
    text(status, "text/plain; charset=utf-8", words.to_owned())
}

fn text(status: StatusCode, kind: &'static str, text: String) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Some(Bytes::from(text))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_answered_and_a_flood_is_not() {
        let begun = Instant::now();
        let mut bucket = Bucket { at: begun, level: BURST };
        let taken =
            |bucket: &mut Bucket, at: Duration| (0..1000).filter(|_| bucket.takes(begun + at)).count();
        assert_eq!(taken(&mut bucket, Duration::ZERO), 200);
        assert_eq!(taken(&mut bucket, Duration::from_secs(1)), 50);
        assert_eq!(taken(&mut bucket, Duration::from_mins(5)), 200);
    }
}
