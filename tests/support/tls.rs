//! Certificates, and a client that uses them.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::binaries::{redis_cli, skip};
use super::reply::quoted;

/// A certificate authority, and a certificate of it for servers and clients on the loopback interface.
pub struct Certificates(TempDir);

impl Certificates {
    /// Made by the program openssl; says why if that, or a redis-cli that speaks TLS, is not here. In CI both must be.
    #[track_caller]
    pub fn make_or_skip(test: &str) -> Option<Certificates> {
        let runs = |program: PathBuf, word: &str| Command::new(program).arg(word).output().ok();
        let speaks_tls = runs(redis_cli(), "--help").is_some_and(|output| {
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).contains("--cacert")
        });
        if speaks_tls && runs("openssl".into(), "version").is_some() {
            return Some(Certificates::make());
        }
        assert!(env::var("CI").as_deref() != Ok("true"), "openssl and a redis-cli that was built with TLS are needed");
        skip(test, "there is no openssl, or redis-cli was built without TLS");
        None
    }

    #[track_caller]
    fn make() -> Certificates {
        let certificates = Certificates(tempfile::tempdir().expect("a temporary directory"));
        fs::write(certificates.0.path().join("names"), "subjectAltName = IP:127.0.0.1").expect("a file");
        for line in [
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt",
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=node -keyout node.key -out node.csr",
            "x509 -req -in node.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out node.crt",
        ] {
            let output = Command::new("openssl").args(line.split(' ')).current_dir(certificates.0.path()).output();
            let output = output.expect("openssl, with which certificates are made");
            assert!(output.status.success(), "openssl {line}: {}", String::from_utf8_lossy(&output.stderr));
        }
        certificates
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The configuration of a server.
    pub fn config(&self) -> [String; 3] {
        [("tls-ca-cert-file", "ca.crt"), ("tls-cert-file", "node.crt"), ("tls-key-file", "node.key")].map(
            |(option, file)| format!("{option} {}", quoted(self.path(file).to_str().expect("a UTF-8 path").as_bytes())),
        )
    }

    /// redis-cli, as a client of the server on this port.
    pub fn client(&self, port: u16) -> Command {
        let mut client = Command::new(redis_cli());
        client.args(["-h", "127.0.0.1", "-p", &port.to_string(), "--tls"]);
        client.arg("--cacert").arg(self.path("ca.crt"));
        client.arg("--cert").arg(self.path("node.crt")).arg("--key").arg(self.path("node.key"));
        client
    }
}
