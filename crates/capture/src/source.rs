//! The bytes of a file, which may be compressed.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use zstd::Decoder;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Largest window of a file in zstd, as a power of two: 128 MiB, as `zstd -d` has it.
const WINDOW_LOG_MAX: u32 = 27;

/// Opens a file and decompresses it on the way if its first bytes ask for it.
///
/// # Errors
/// The file cannot be read.
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let mut file = File::open(path)?;
    let mut start = Vec::with_capacity(ZSTD.len());
    file.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    let file = BufReader::with_capacity(1 << 17, file);
    if start.starts_with(&GZIP) {
        return Ok(Box::new(MultiGzDecoder::new(file)));
    }
    if start == ZSTD {
        let mut decoder = Decoder::with_buffer(file)?;
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        return Ok(Box::new(decoder));
    }
    Ok(Box::new(file))
}
