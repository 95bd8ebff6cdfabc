//! The vectors of a data set.

use std::error::Error;
use std::io::Read;
use std::path::Path;

/// Vectors of a folder with a `meta.json`.
pub struct DataSet {
    /// As `meta.json` names it.
    pub name: String,
    /// The metric by its name in the HTTP interface.
    pub metric: &'static str,
    /// The vectors to store, one a row.
    pub base: Vec<Vec<f32>>,
    /// The vectors to search for.
    pub queries: Vec<Vec<f32>>,
}

impl DataSet {
    /// Reads `base` and `query`, of the element type `dtype` (f16, f32 or u8), gzipped where the name ends in `.gz`.
    pub fn load(dir: &Path) -> Result<DataSet, Box<dyn Error>> {
        let meta: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.join("meta.json"))?)?;
        let text = |key: &str| meta[key].as_str().map(str::to_owned).ok_or(format!("meta.json lacks {key}"));
        let metric = match text("metric")?.as_str() {
            "cosine" => "Cosine",
            "euclid" => "Euclid",
            "dot" => "Dot",
            other => return Err(format!("unknown metric {other}").into()),
        };
        let dim = meta["dims"].as_u64().ok_or("meta.json lacks dims")? as usize;
        let vectors = |file: &str| -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
            let bytes = read(&dir.join(file))?;
            let values: Vec<f32> = match text("dtype")?.as_str() {
                "u8" => bytes.into_iter().map(f32::from).collect(),
                "f16" => {
                    bytes.as_chunks::<2>().0.iter().map(|&b| half::f16::from_le_bytes(b).to_f32()).collect()
                }
                "f32" => bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect(),
                other => return Err(format!("unknown dtype {other}").into()),
            };
            Ok(values.chunks_exact(dim).map(<[f32]>::to_vec).collect())
        };
        Ok(DataSet {
            name: text("name")?,
            metric,
            base: vectors(&text("base")?)?,
            queries: vectors(&text("query")?)?,
        })
    }
}

/// Bytes of a file, unpacked where its name ends in `.gz`.
///
/// # Errors
/// The disk's, with the path.
pub fn read(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain)?;
        return Ok(plain);
    }
    Ok(bytes)
}
