//! s3s-fs over a folder, on a free port of 127.0.0.1, in plain HTTP: the part of the test store that knows S3.
//!
//!     harness-test-store-server FOLDER ACCESS_KEY SECRET_KEY [DOMAIN...]
//!
//! The objects are in FOLDER/objects. It writes its port as the first line of its output and lives until its input ends,
//! so that it outlives nobody; the last thing it does is to remove FOLDER, which is why nobody else has to.
//! A domain is one whose sub-domains are buckets; every other host is path style.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::S3Result;
use s3s::auth::SimpleAuth;
use s3s::host::{S3Host, VirtualHost};
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

/// Buckets below some domains. `s3s::host::MultiDomain` refuses hosts with a port that it was not told.
struct Domains(Vec<String>);

impl S3Host for Domains {
    fn parse_host_header<'a>(&'a self, host: &'a str) -> S3Result<VirtualHost<'a>> {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let bucket = self.0.iter().find_map(|domain| {
            let bucket = name.strip_suffix(domain.as_str())?.strip_suffix('.')?;
            Some(VirtualHost::new(domain).with_bucket(bucket))
        });
        Ok(bucket.unwrap_or_else(|| VirtualHost::new(host)))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(access_key), Some(secret_key)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err(
            "usage: harness-test-store-server FOLDER ACCESS_KEY SECRET_KEY [DOMAIN...]".into()
        );
    };
    let store = FileSystem::new(Path::new(&folder).join("objects"))
        .map_err(|error| format!("{error:?}"))?;
    let mut builder = S3ServiceBuilder::new(store);
    builder.set_auth(SimpleAuth::from_single(access_key, secret_key));
    builder.set_host(Domains(arguments.collect()));
    let service = builder.build();

    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(io::stdout(), "{}", listener.local_addr()?.port())?;
    tokio::spawn(async move {
        loop {
            let Ok((socket, _)) = listener.accept().await else { continue };
            let service = service.clone();
            tokio::spawn(async move {
                // How a connection ends is the client's affair.
                let _ = Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(socket), service)
                    .await;
            });
        }
    });
    let mut input = tokio::io::stdin();
    while input.read(&mut [0; 64]).await.is_ok_and(|count| count > 0) {}
    // A request that is still being served may write once more.
    for _ in 0..100 {
        if std::fs::remove_dir_all(&folder).is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Not by returning: the runtime would wait for the thread that reads the input.
    std::process::exit(0);
}
