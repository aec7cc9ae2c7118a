//! The connection of a worker to its runner.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::system;

/// The variable with the port of the runner and the token, `PORT:TOKEN`.
const VARIABLE: &str = "CLMATRIX_CONNECTION";

/// The time in which a worker connects.
const LIMIT: Duration = Duration::from_secs(60);

/// The time in which a process that has connected sends its token.
const TOKEN_LIMIT: Duration = Duration::from_secs(1);

/// The length of a token in bytes.
const TOKEN_LENGTH: usize = 32;

/// The port on which the runner waits for one worker.
pub struct Meeting {
    listener: TcpListener,
    /// The token by which the runner recognizes its worker among the programs of this machine.
    token: String,
}

impl Meeting {
    /// Opens a port that only programs of this machine reach, and passes it and the token to a worker.
    pub fn new(command: &mut Command) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        // The keys of each state are random.
        let random = || RandomState::new().hash_one(0);
        let token = format!("{:016x}{:016x}", random(), random());
        command.env(VARIABLE, format!("{}:{token}", listener.local_addr()?.port()));
        Ok(Self { listener, token })
    }

    /// Waits until the worker is connected, and lets it start. Returns `None` if it ends before or takes too long.
    pub fn wait_for(&self, mut has_ended: impl FnMut() -> bool) -> io::Result<Option<TcpStream>> {
        let deadline = Instant::now() + LIMIT;
        loop {
            // Checked first: a process that has ended may have connected before.
            let is_over = has_ended() || Instant::now() >= deadline;
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // Else it is another program, or one that has ended.
                    if let Ok(Some(stream)) = self.welcome(stream) {
                        return Ok(Some(stream));
                    }
                }
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) if is_over => return Ok(None),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Returns the connection if the token is right.
    fn welcome(&self, mut stream: TcpStream) -> io::Result<Option<TcpStream>> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TOKEN_LIMIT))?;
        let mut token = [0; TOKEN_LENGTH];
        stream.read_exact(&mut token)?;
        stream.set_read_timeout(None)?;
        if token != self.token.as_bytes() {
            return Ok(None);
        }
        stream.write_all(b"\n")?;
        Ok(Some(stream))
    }
}

/// Makes this process a worker: connects to the runner, and waits until the runner has put it into a family of its own.
///
/// Call it once.
pub fn become_worker() -> io::Result<TcpStream> {
    let unknown =
        || io::Error::other(format!("{VARIABLE} is set by the runner for its workers only"));
    let place = std::env::var(VARIABLE).map_err(|_| unknown())?;
    // SAFETY: on Windows, any thread may make the call. Elsewhere, the other thread of libtest waits, and uses no
    // variable.
    unsafe { std::env::remove_var(VARIABLE) };
    let (port, token) = place.split_once(':').ok_or_else(unknown)?;
    let port: u16 = port.parse().map_err(|_| unknown())?;
    system::leave_crashes_to_the_runner();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    stream.write_all(token.as_bytes())?;
    stream.read_exact(&mut [0])?;
    system::end_with_the_runner(&stream)?;
    Ok(stream)
}
