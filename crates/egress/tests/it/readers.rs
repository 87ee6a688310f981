//! Any bytes: no reader panics, none changes its mind when more comes, and what is passed on reads as what was read.

use proptest::prelude::*;
use toolgate_egress::readers::{Hello, Reply, Target, head, hello, question};

/// Bytes that are nearly something: pieces of the real ones, and anything between.
fn nearly(pieces: &'static [&'static [u8]]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => proptest::sample::select(pieces).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

const OF_HTTP: &[&[u8]] = &[
    b"GET ",
    b"POST ",
    b"CONNECT ",
    b"/a",
    b"http://a.example",
    b"a.example:443",
    b" HTTP/1.1",
    b"\r\n",
    b"\n",
    b"\r\n\r\n",
    b"Host: a.example",
    b"Host: b.example",
    b"Content-Length: 3",
    b"Transfer-Encoding: chunked",
    b"x: y",
    b" ",
    b":",
];
const OF_TLS: &[&[u8]] = &[
    b"\x16\x03\x01",
    b"\0\x04",
    b"\x01\0\0\x2b",
    b"\x03\x03",
    &[7; 32],
    b"\0",
    b"\0\x02\x13\x01",
    b"\x01\0",
    b"\0\0",
    b"\0\x09a.example",
];
const OF_DNS: &[&[u8]] =
    &[b"\0\x01\x01\0\0\x01\0\0\0\0\0\0", b"\x01a", b"\x07example", b"\0", b"\0\x01", b"\xc0\x0c"];

proptest! {
    #[test]
    fn a_head_that_is_passed_on_is_read_as_the_same(bytes in nearly(OF_HTTP)) {
        if let Ok(read) = head(&bytes) {
            prop_assert!(read.length <= bytes.len());
            let alone = head(&bytes[..read.length]);
            prop_assert_eq!(alone.as_ref(), Ok(&read));
            if let Target::Direct(host, port, path) = &read.target {
                let again = head(&read.passed_on()).unwrap();
                let Target::Direct(host_again, port_again, path_again) = again.target else { panic!("{bytes:?}") };
                prop_assert_eq!((&host_again, port_again.unwrap_or(80), &path_again), (host, port.unwrap_or(80), path));
                prop_assert_eq!((again.method, again.body), (read.method, read.body));
            }
        }
    }

    #[test]
    fn a_first_message_of_tls_stays_what_it_is(bytes in nearly(OF_TLS)) {
        let whole = hello(&bytes);
        let mut decided = None;
        for end in 0..bytes.len() {
            match (hello(&bytes[..end]), &decided) {
                (Hello::Unfinished, None) => {}
                (found, None) => decided = Some(found),
                (found, Some(before)) => prop_assert_eq!(&found, before, "{}", end),
            }
        }
        if let Some(decided) = decided {
            prop_assert_eq!(whole, decided);
        }
    }

    #[test]
    fn an_answer_repeats_its_question(bytes in nearly(OF_DNS)) {
        if let Some(asked) = question(&bytes) {
            let answer = asked.answered(Reply::Address([198, 18, 0, 1].into()));
            prop_assert_eq!(&answer[..2], &bytes[..2]);
            prop_assert!(answer.len() <= bytes.len() + 16);
        }
    }

    #[test]
    fn anything_is_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = (head(&bytes), hello(&bytes), question(&bytes));
    }
}
