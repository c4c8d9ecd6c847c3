#!/usr/bin/env bash
# The crate cron 0.16.0 (Rust): the expression `0 0 9 * * 1-5` (with seconds first), at 9 on weekdays in cron and in croner 3.0.1 (Rust).
# Expected: Monday to Friday, since 1 is Monday in crontab(5) and in Kubernetes.
# Seen: Sunday to Thursday, since 1 is Sunday as in Quartz, so that a job runs on Sundays and not on Fridays, and `0` for Sunday is an
# error. Names of days are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export CARGO_HOME="$folder/cargo"
mkdir src
cat > Cargo.toml <<'MANIFEST'
[package]
name = "finding"
version = "0.1.0"
edition = "2021"
[dependencies]
chrono = "0.4"
cron = "=0.16.0"
croner = "=3.0.1"
MANIFEST
cat > src/main.rs <<'PROGRAM'
use chrono::{TimeZone, Utc};
use std::str::FromStr;

fn main() {
    let start = Utc.with_ymd_and_hms(2026, 11, 28, 10, 0, 0).unwrap();
    for text in ["0 0 9 * * 1-5", "0 0 9 * * MON-FRI", "0 0 9 * * 0"] {
        let cron: Vec<String> = match cron::Schedule::from_str(text) {
            Ok(schedule) => schedule.after(&start).take(5).map(|time| time.format("%a").to_string()).collect(),
            Err(_) => vec!["error".to_string()],
        };
        let pattern = croner::parser::CronParser::builder().seconds(croner::parser::Seconds::Required).build().parse(text).unwrap();
        let croner: Vec<String> = pattern.iter_after(start).take(5).map(|time| time.format("%a").to_string()).collect();
        println!("{text} | cron {} | croner {}", cron.join(" "), croner.join(" "));
    }
}
PROGRAM
cargo build --quiet 2>/dev/null
output=$(target/debug/finding)
echo "$output"
diff - <(echo "$output") <<'LINES'
0 0 9 * * 1-5 | cron Sun Mon Tue Wed Thu | croner Mon Tue Wed Thu Fri
0 0 9 * * MON-FRI | cron Mon Tue Wed Thu Fri | croner Mon Tue Wed Thu Fri
0 0 9 * * 0 | cron error | croner Sun Sun Sun Sun Sun
LINES
echo 'as described'
