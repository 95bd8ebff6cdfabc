//! The order of the modules in ARCHITECTURE.md, and the places of `unsafe` in CONTRIBUTING.md, are those of the
//! sources.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All Rust sources below a folder.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("a listed entry").path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The lines of a source with their numbers, comments and the bodies of `#[cfg(test)]` modules left out.
fn code(source: &str) -> Vec<(usize, &str)> {
    let mut lines = (1..).zip(source.lines()).peekable();
    let mut kept = Vec::new();
    while let Some((number, line)) = lines.next() {
        let is_test = (line == "#[cfg(test)]" || line.starts_with("#[cfg(all(test,"))
            && lines.peek().is_some_and(|(_, next)| next.starts_with("mod ") && next.ends_with('{'));
        if is_test {
            lines.by_ref().find(|(_, line)| *line == "}");
        } else if !line.trim_start().starts_with("//") {
            kept.push((number, line));
        }
    }
    kept
}

/// The parts of `text` between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The modules of the engine in the order of the table.
fn floors() -> Vec<String> {
    let page = read(&root().join("ARCHITECTURE.md"));
    let (_, section) = page.split_once("### `crates/engine`").expect("a section of the engine");
    let rows =
        section.lines().skip_while(|line| !line.starts_with("| ")).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(quoted).map(str::to_owned).collect()
}

/// The modules that a line names by paths from the crate's root.
fn used(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |byte: char| byte.is_ascii_alphanumeric() || byte == '_';
    line.split("crate::").skip(1).map(move |rest| {
        let end = rest.find(|byte| !is_part(byte)).unwrap_or(rest.len());
        &rest[..end]
    })
}

#[test]
fn each_module_uses_only_those_before_it_in_the_table() {
    let floors = floors();
    let position = |name: &str| floors.iter().position(|floor| floor == name);
    let src = root().join("crates/engine/src");
    let mut violations = Vec::new();
    for path in sources(&src) {
        let relative =
            path.strip_prefix(&src).expect("a path below the folder").to_string_lossy().replace('\\', "/");
        let is_test = relative.split('/').any(|part| matches!(part, "tests" | "tests.rs"));
        let module = relative.split('/').next().expect("a first part").trim_end_matches(".rs");
        if is_test || module == "lib" {
            continue;
        }
        let source = read(&path);
        let Some(own) = position(module) else {
            violations.push(format!("{relative}: the table has no module {module}"));
            continue;
        };
        for (number, line) in code(&source) {
            for used in used(line) {
                if position(used).is_none_or(|other| other > own) {
                    violations.push(format!("{relative}:{number}: {module} must not use crate::{used}"));
                }
            }
            // From here, `super` is the crate's root.
            let is_root = relative == format!("{module}.rs") || relative == format!("{module}/mod.rs");
            if is_root && line.starts_with("use super::") {
                violations.push(format!("{relative}:{number}: name the module from `crate`"));
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn the_table_has_each_module_of_the_crate_once() {
    let source = read(&root().join("crates/engine/src/lib.rs"));
    let declared = source.lines().filter_map(|line| {
        line.trim_start_matches("pub ").strip_prefix("mod ").map(|rest| rest.trim_end_matches(';').to_owned())
    });
    let mut declared: Vec<String> = declared.collect();
    declared.sort();
    declared.dedup();
    let mut floors = floors();
    floors.sort();
    assert_eq!(floors, declared);
}

#[test]
fn the_addon_imports_the_root_of_the_engine_alone() {
    let mut imports = 0;
    let mut violations = Vec::new();
    for path in sources(&root().join("crates/node/src")) {
        let source = read(&path);
        let text: Vec<&str> = code(&source).into_iter().map(|(_, line)| line).collect();
        for import in text.join("\n").split("kithdb_engine::").skip(1) {
            let end = import.find(if import.starts_with('{') { '}' } else { ';' }).unwrap_or(import.len());
            let names =
                import[..end].lines().next().filter(|_| !import.starts_with('{')).unwrap_or(&import[..end]);
            let of_module = names.split([',', '{', ' ', '\n']).any(|name| {
                name.split_once("::").is_some_and(|(first, _)| first.starts_with(char::is_lowercase))
            });
            imports += 1;
            if of_module {
                violations.push(format!("{}: kithdb_engine::{}", path.display(), names.trim()));
            }
        }
    }
    assert!(imports > 5, "only {imports} imports were found");
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// Whether a line of code begins an unsafe block, function, implementation or attribute.
fn is_unchecked(line: &str) -> bool {
    let is_keyword = |rest: &&str| {
        let rest = rest.trim_start();
        rest.is_empty()
            || ["{", "(", "fn", "impl", "trait", "extern"].iter().any(|next| rest.starts_with(next))
    };
    line.split("unsafe").skip(1).any(|rest| is_keyword(&rest))
}

#[test]
fn unsafe_appears_only_where_the_rules_allow_it() {
    let rules = read(&root().join("CONTRIBUTING.md"));
    let rule = rules.lines().find(|line| line.starts_with("- `unsafe`")).expect("a rule about unsafe");
    let allowed: Vec<PathBuf> =
        quoted(rule).filter(|path| path.starts_with("crates/")).map(|path| root().join(path)).collect();
    assert!(allowed.iter().all(|path| path.exists()), "{allowed:?}");
    let mut violations = Vec::new();
    for path in sources(&root().join("crates")) {
        if allowed.iter().any(|allowed| path.starts_with(allowed)) {
            continue;
        }
        let source = read(&path);
        for (number, line) in code(&source) {
            if is_unchecked(line) {
                violations.push(format!("{}:{number}", path.display()));
            }
        }
    }
    assert!(violations.is_empty(), "unsafe code in {}", violations.join(", "));
}

/// Where threads are started: in the supervisor; by the log, whose threads a scheduler of tests may replace, and which runs in
/// the supervisor, too; and for one call of Node, which is completed after a panic as well.
const THREAD_STARTERS: [&str; 3] = [
    "crates/engine/src/supervision/threads.rs",
    "crates/engine/src/wal/group/mod.rs",
    "crates/node/src/lib.rs",
];

#[test]
fn threads_are_started_where_their_panics_are_caught() {
    let mut violations = Vec::new();
    let mut starters = Vec::new();
    for folder in ["crates/engine/src", "crates/node/src"] {
        for path in sources(&root().join(folder)) {
            let relative =
                path.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/");
            if relative.split('/').any(|part| matches!(part, "tests" | "tests.rs")) {
                continue;
            }
            let source = read(&path);
            // Who starts a scoped thread waits for it, and gets its panic.
            let starts = |line: &str| {
                (line.contains("thread::Builder::new") || line.contains("thread::spawn("))
                    && !line.contains("spawn_scoped")
            };
            for (number, _) in code(&source).into_iter().filter(|(_, line)| starts(line)) {
                match THREAD_STARTERS.iter().find(|starter| **starter == relative) {
                    Some(starter) => starters.push(*starter),
                    None => violations.push(format!("{relative}:{number}")),
                }
            }
        }
    }
    assert!(violations.is_empty(), "threads that nothing supervises: {}", violations.join(", "));
    starters.dedup();
    assert_eq!(starters, THREAD_STARTERS);
}

/// The longest that a function may be, in lines.
const MAX_FUNCTION_LINES: usize = 60;

/// Whether a line begins a function, as rustfmt lays it out.
fn begins_function(line: &str) -> bool {
    let (before, found) = line.split_once("fn ").map_or(("", false), |(before, _)| (before, true));
    // `pub(in crate::collection)` is two words.
    let is_visibility = |word: &str| word.starts_with("pub") || word.ends_with(')');
    found && before.split_whitespace().all(|word| is_visibility(word) || QUALIFIERS.contains(&word))
}

/// The words that may stand before `fn`, beside a visibility.
const QUALIFIERS: [&str; 4] = ["const", "unsafe", "extern", "\"C\""];

#[test]
fn no_function_is_longer_than_the_rules_allow() {
    let mut violations = Vec::new();
    let mut functions = 0;
    for krate in ["engine", "node", "bench", "load", "health"] {
        for path in sources(&root().join("crates").join(krate).join("src")) {
            if path.components().any(|part| part.as_os_str().to_string_lossy().starts_with("tests")) {
                continue;
            }
            let source = read(&path);
            let lines = code(&source);
            for (at, (first, line)) in lines.iter().enumerate().filter(|(_, (_, line))| begins_function(line))
            {
                let closing = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
                let one_line = line.ends_with('}') || line.ends_with(';');
                let end = lines[at..].iter().find(|(_, line)| one_line || *line == closing);
                let (last, _) = end.expect("a function ends");
                functions += 1;
                if last - first + 1 > MAX_FUNCTION_LINES {
                    violations.push(format!("{}:{first}: {} lines", path.display(), last - first + 1));
                }
            }
        }
    }
    assert!(functions > 3_000, "only {functions} functions were found");
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// The most lines that `collection` may have, tests left out: it is the floor that everything would go to.
const MAX_COLLECTION_LINES: usize = 7_000;
/// The most lines of one of its files.
const MAX_COLLECTION_FILE_LINES: usize = 400;

#[test]
fn the_collection_stays_small() {
    let mut all = 0;
    let mut violations = Vec::new();
    for path in sources(&root().join("crates/engine/src/collection")) {
        if path.components().any(|part| part.as_os_str().to_string_lossy().starts_with("tests")) {
            continue;
        }
        let lines = read(&path).lines().count();
        all += lines;
        if lines > MAX_COLLECTION_FILE_LINES {
            violations.push(format!("{}: {lines} lines", path.display()));
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    assert!((1..=MAX_COLLECTION_LINES).contains(&all), "{all} lines");
}
