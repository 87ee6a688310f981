//! No text takes long because of what stands in it: four times as much of anything takes about four times as long.
//!
//! The texts are one piece over and over, since that is what makes a search begin again and again at what it has seen.
//! Times of the processor are compared with each other, not with a clock: a slow machine is slow for both, and a busy one does not count.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use toolgate_secrets::{Marks, Rules, Stream, find, scrub_json};

const PIECES: &[&str] = &[
    "sk-",
    "ghp_",
    "key=",
    "key=a",
    "\"key\":\"",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----END PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\nQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD\n",
    "a@b.c",
    "a@",
    "@",
    "://a:",
    "://a:b@",
    "a:b@",
    "%41",
    "\\u0041",
    "\x1b[1m",
    "\x1b]",
    "eyJ",
    "eyJ.eyJ.",
    "Bearer ",
    "authorization: ",
    "PuTTY-User-Key-File-2: \nPrivate-Lines: 1\n",
    "{\"key\":",
    "key=%41",
    "password=[",
    "sk-a@b.c key=sk-",
    "AKIA%41\x1b[1m",
    "\\\"",
    "-",
    "token,",
    "token  token\n",
    "token  a\n",
    "mysql -p",
    "\"token\": {\"value\"",
    "\"token\" -> \"",
    "a\0",
    "\0a\0\0",
    "token|a\n",
    "a,token\n",
    "Cookie: a=",
    " -u a:",
    ":5432:",
    "IDENTIFIED BY ",
    "a_live_",
    "token ",
    "token='",
    "token=\"'",
    "\"value\":\"a\",\"key\":\"token",
    "<token>",
    "<key>token</key>",
    "token: |\n ",
    "token=Some(\"",
    "password=q8Zr1LmW0xTf ",
    "a=b/key=b/",
];

/// A way through the crate.
type Way = (&'static str, fn(&str));

const WAYS: &[Way] = &[
    ("find", |text| {
        black_box(find(text.as_bytes(), &Rules::default()));
    }),
    ("scrub_json", |text| {
        let json = serde_json::to_string(text).unwrap();
        black_box(scrub_json(&json, &Rules::default(), Marks::Plain));
    }),
    ("Stream", |text| {
        let rules = Rules::default();
        let mut stream = Stream::new(&rules, Marks::Plain);
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(64 * 1024) {
            stream.push(piece, &mut out);
            out.clear();
        }
        black_box(stream.finish(&mut out));
    }),
];

fn took(way: fn(&str), text: &str) -> Duration {
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.try_into().unwrap())
    };
    let start = used();
    way(text);
    used().saturating_sub(start)
}

#[test]
fn time_grows_linearly_with_the_length() {
    /// Longer than whatever is looked at in one go.
    const SHORT: usize = 128 * 1024;
    const TIMES: usize = 4;
    /// What is expected, and room for caches that others use too; the square would be 16.
    const MOST: u32 = 10;
    let mut wrong = Vec::new();
    for piece in PIECES {
        let short = piece.repeat(SHORT / piece.len());
        let long = short.repeat(TIMES);
        for (name, way) in WAYS {
            // Another program may come between: three attempts, and the better of two short ones.
            let fits = (0..3).any(|_| {
                let once = (0..2).map(|_| took(*way, &short)).min().unwrap_or_default();
                took(*way, &long) <= once * MOST + Duration::from_millis(20)
            });
            if !fits {
                wrong.push(format!("{piece:?} through {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "slower than their length: {wrong:#?}");
}
