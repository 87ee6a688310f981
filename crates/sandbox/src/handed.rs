//! A descriptor that one process of ours hands to another, with a few words.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// What comes with it is no longer than this, and is cut.
const LONGEST_TEXT: usize = 1024;

/// Two ends of a way between two processes.
pub(crate) fn link() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// Hands it over, once for a link.
pub(crate) fn give(link: &OwnedFd, handle: Option<&OwnedFd>, text: &[u8]) -> io::Result<()> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let handles = handle.map(|handle| [handle.as_fd()]);
    if let Some(handles) = &handles {
        ancillary.push(SendAncillaryMessage::ScmRights(handles));
    }
    let text = text.get(..LONGEST_TEXT).unwrap_or(text);
    sendmsg(link, &[io::IoSlice::new(text)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// What was handed over. Waits for it. No text at all: whoever was to give it is gone.
pub(crate) fn take(link: &OwnedFd) -> io::Result<(Option<OwnedFd>, Vec<u8>)> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut text = [0; LONGEST_TEXT];
    let came = recvmsg(link, &mut [io::IoSliceMut::new(&mut text)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let handle = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut handles) => handles.next(),
        _ => None,
    });
    Ok((handle, text.get(..came.bytes).unwrap_or_default().to_vec()))
}
