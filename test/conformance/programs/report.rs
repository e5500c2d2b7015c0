// Reads sales.csv, adds up each region, writes a report with its checksum, which zlib computes.
use std::collections::BTreeMap;
use std::fs;
use std::os::raw::{c_uchar, c_uint, c_ulong};

#[link(name = "z")]
extern "C" {
    fn crc32(crc: c_ulong, data: *const c_uchar, length: c_uint) -> c_ulong;
}

fn totals(sales: &str) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for line in sales.lines().skip(1) {
        if let Some((region, amount)) = line.split_once(',') {
            *found.entry(region.to_string()).or_insert(0.0) += amount.parse::<f64>().expect("an amount");
        }
    }
    found
}

fn main() {
    let sales = fs::read_to_string("sales.csv").expect("sales.csv cannot be read");
    let mut report = String::new();
    for (region, total) in totals(&sales) {
        report.push_str(&format!("{} {:.2}\n", region, total));
    }
    let checksum = unsafe { crc32(0, report.as_ptr(), report.len() as c_uint) };
    fs::write("report-rust.txt", format!("{}crc32 {:08x}\n", report, checksum)).expect("a report");
    print!("{}", report);
}
