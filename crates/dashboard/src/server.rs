//! The port: connections, their number and their time. Each carries one request, so that each can be bounded as a whole.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::peer::is_own;
use crate::site::Site;
use crate::{Desk, Options};

/// So many connections are open at once.
const CONNECTIONS: usize = 64;
/// A request's head is there by then.
const HEAD: Duration = Duration::from_secs(5);
/// A head is so long at most.
const LONGEST_HEAD: usize = 16 * 1024;
/// A request is answered and its answer read by then, but for what comes live.
const WHOLE: Duration = Duration::from_mins(2);
/// What comes live is asked for again after a while, so that a page that nobody looks at any more is known as that.
pub(crate) const LIVE: Duration = Duration::from_mins(10);
/// How often it is looked whether to go on.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) fn serve(
    desk: Arc<dyn Desk>,
    options: &Options,
    announce: &(dyn Fn(&str) + Sync),
    again: &AtomicBool,
) -> io::Result<()> {
    // One thread waits for connections; what reads the log or judges runs on others.
    let runtime = Builder::new_current_thread().enable_io().enable_time().max_blocking_threads(8).build()?;
    let served = runtime.block_on(accept(desk, options, announce, again));
    // A question that is being answered is not waited for.
    runtime.shutdown_background();
    served
}

async fn accept(
    desk: Arc<dyn Desk>,
    options: &Options,
    announce: &(dyn Fn(&str) + Sync),
    again: &AtomicBool,
) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
    let server = listener.local_addr()?;
    let site = Arc::new(Site::new(desk, server.port()));
    announce(&site.guard.address()?);
    let open = Arc::new(Semaphore::new(CONNECTIONS));
    let begun = Instant::now();
    let asked = Arc::new(AtomicU64::new(0));
    loop {
        if options.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        if again.swap(false, Ordering::Relaxed) {
            announce(&site.guard.address()?);
        }
        let last = Duration::from_millis(asked.load(Ordering::Relaxed));
        if begun.elapsed().saturating_sub(last) > options.idle {
            return Ok(());
        }
        let (stream, client) = match timeout(LOOK, listener.accept()).await {
            Ok(Ok(accepted)) => accepted,
            // Nobody has come, or there are no more descriptors: in a while there are.
            Ok(Err(_)) => {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            Err(_) => continue,
        };
        let Ok(permit) = open.clone().try_acquire_owned() else {
            refuse(&stream);
            continue;
        };
        let (site, asked) = (site.clone(), asked.clone());
        tokio::spawn(async move {
            let _permit = permit;
            connection(stream, client, server, &site, &|| {
                let now = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                asked.store(now, Ordering::Relaxed);
            })
            .await;
        });
    }
}

/// Says in a word that there are too many. Nobody waits for whoever does not read it.
fn refuse(stream: &TcpStream) {
    let _ = stream
        .try_write(b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}

/// What an answer makes of its connection.
#[derive(Default)]
pub(crate) struct Marks {
    /// Its question came with a session's secret. Only such ones keep the server running.
    pub(crate) is_persons: AtomicBool,
    /// It goes on for a while.
    pub(crate) is_live: AtomicBool,
}

async fn connection(
    stream: TcpStream,
    client: SocketAddr,
    server: SocketAddr,
    site: &Arc<Site>,
    asked: &(dyn Fn() + Sync),
) {
    // Another user of this machine, who hears nothing at all.
    if !is_own(client, server) {
        return;
    }
    let marks = Arc::new(Marks::default());
    let service = service_fn(|request| {
        let (site, marks) = (site.clone(), marks.clone());
        async move {
            let answer = site.answer(request, &marks).await;
            if marks.is_persons.load(Ordering::Relaxed) {
                asked();
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LONGEST_HEAD)
        .max_headers(64)
        .keep_alive(false);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // However it ends, there is nobody left to tell.
    if timeout(WHOLE, connection.as_mut()).await.is_err() && marks.is_live.load(Ordering::Relaxed) {
        let _ = timeout(LIVE, connection).await;
    }
}
