//! The bytes that a worker has sent on its connection.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The bytes that were received and have not been read.
pub struct Received {
    pieces: Receiver<Vec<u8>>,
    bytes: VecDeque<u8>,
}

impl Received {
    /// Receives all bytes on a thread, until the other end is closed. Without a connection, it is closed.
    pub fn new(connection: Option<TcpStream>) -> io::Result<Self> {
        let (sender, pieces) = mpsc::channel();
        if let Some(mut connection) = connection {
            let receive = move || {
                let mut buffer = vec![0; 1 << 16];
                loop {
                    match connection.read(&mut buffer) {
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Ok(0) | Err(_) => break,
                        // The process may have been dropped.
                        Ok(count) => _ = sender.send(buffer[..count].to_vec()),
                    }
                }
            };
            thread::Builder::new().name("clmatrix-answers".to_owned()).spawn(receive)?;
        }
        Ok(Self { pieces, bytes: VecDeque::new() })
    }

    /// Receives all that has come. Returns whether the other end is closed.
    pub fn is_closed(&mut self) -> bool {
        loop {
            match self.pieces.try_recv() {
                Ok(piece) => self.bytes.extend(piece),
                Err(error) => return error == mpsc::TryRecvError::Disconnected,
            }
        }
    }

    /// Waits until a read returns bytes or the end, for this time at most. Returns whether it does.
    pub fn wait(&mut self, time: Duration) -> bool {
        if self.bytes.is_empty() {
            match self.pieces.recv_timeout(time) {
                Ok(piece) => self.bytes.extend(piece),
                Err(error) => return error == RecvTimeoutError::Disconnected,
            }
        }
        true
    }

    /// Takes all that has come, or as much as fits; `Some(0)` at the end, `None` if there are none yet.
    pub fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let is_closed = self.is_closed();
        self.bytes.make_contiguous();
        match self.bytes.read(buffer) {
            Ok(count @ 1..) => Some(count),
            _ => is_closed.then_some(0),
        }
    }
}
