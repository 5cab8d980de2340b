//! Names for the servers of a test: a DNS server that knows one answer.
//!
//! Only what resolvers need: one question of class IN in one datagram (RFC 1035, section 4).

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context as _, Result};

use super::Node;
use crate::network::ADDRESS;

const PORT: u16 = 53;
const TYPE_A: u16 = 1;
const HEADER: usize = 12;
/// How long a resolver may keep an answer, in seconds.
const LIFETIME: u32 = 5;

/// Lets pods find every name below `.test` at [`ADDRESS`]; other names do not exist. It ends when dropped.
#[derive(Debug)]
pub struct Names {
    ended: Arc<AtomicBool>,
}

impl Names {
    pub(super) fn serve(node: &Node) -> Result<Self> {
        node.enter()?;
        let socket =
            UdpSocket::bind((ADDRESS, PORT)).context("another test serves names already")?;
        let ended = Arc::new(AtomicBool::new(false));
        thread::spawn({
            let ended = ended.clone();
            move || {
                let mut datagram = [0; 512];
                while let Ok((length, from)) = socket.recv_from(&mut datagram) {
                    if ended.load(Ordering::SeqCst) {
                        return;
                    }
                    if let Some(answer) = answer(&datagram[..length]) {
                        // A lost answer is asked for again.
                        let _ = socket.send_to(&answer, from);
                    }
                }
            }
        });
        Ok(Self { ended })
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the one who receives.
        if let Ok(socket) = UdpSocket::bind((ADDRESS, 0)) {
            let _ = socket.send_to(b"end", SocketAddr::from((ADDRESS, PORT)));
        }
    }
}

/// The answer to a query; none to what is not one.
fn answer(query: &[u8]) -> Option<Vec<u8>> {
    let header = query.get(..HEADER)?;
    let is_query = header[2] & 0x80 == 0 && header[4..6] == [0, 1];
    if !is_query {
        return None;
    }
    let mut end = HEADER;
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*query.get(end)?);
        if length == 0 {
            break;
        }
        labels.push(query.get(end + 1..=end + length)?.to_ascii_lowercase());
        end += length + 1;
    }
    let question = query.get(HEADER..end + 5)?;
    let kind = u16::from_be_bytes([question[question.len() - 4], question[question.len() - 3]]);
    let known = labels.last().is_some_and(|label| label == b"test")
        && labels.len() > 1
        // A resolver tries its search domains first.
        && labels[labels.len() - 2] != b"cluster";
    let found = known && kind == TYPE_A;

    let mut answer = header[..2].to_vec();
    // An authoritative answer; recursion as it was asked for; "no such name" (3) for all others.
    answer.extend([0x84 | (header[2] & 1), if known { 0 } else { 3 }]);
    answer.extend([0, 1, 0, u8::from(found), 0, 0, 0, 0]);
    answer.extend(question);
    if found {
        // The name is the one of the question, which begins at 12.
        answer.extend([0xc0, 12, 0, 1, 0, 1]);
        answer.extend(LIFETIME.to_be_bytes());
        answer.extend([0, 4]);
        answer.extend(ADDRESS.octets());
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(labels: &[&str], kind: u8) -> Vec<u8> {
        let mut bytes = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in labels {
            bytes.push(u8::try_from(label.len()).unwrap());
            bytes.extend(label.as_bytes());
        }
        bytes.extend([0, 0, kind, 0, 1]);
        bytes
    }

    #[test]
    fn names_below_test_lead_to_the_node() {
        let asked = query(&["Bucket", "store", "TEST"], 1);
        let told = answer(&asked).unwrap();
        assert_eq!(told[..HEADER], [0xab, 0xcd, 0x85, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(told[HEADER..asked.len()], asked[HEADER..]);
        assert_eq!(told[asked.len()..], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 10, 77, 0, 1]);
    }

    #[test]
    fn others_do_not_exist_and_other_records_are_empty() {
        let codes = |labels: &[&str], kind| {
            let told = answer(&query(labels, kind)).unwrap();
            (told[3], told[7])
        };
        assert_eq!(codes(&["store", "test"], 28), (0, 0));
        assert_eq!(codes(&["store", "example"], 1), (3, 0));
        assert_eq!(codes(&["store", "test", "svc", "cluster", "test"], 1), (3, 0));
        assert_eq!(codes(&["test"], 1), (3, 0));
    }

    #[test]
    fn what_is_no_query_gets_no_answer() {
        let whole = query(&["store", "test"], 1);
        for length in 0..whole.len() {
            assert_eq!(answer(&whole[..length]), None, "{length}");
        }
        let mut response = whole;
        response[2] |= 0x80;
        assert_eq!(answer(&response), None);
    }
}
