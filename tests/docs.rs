//! The documentation and the dependencies, held to the code: what is written down is true, and nothing is left out.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use harness::cli::{self, Exit};
use harness::execution::Category;
use harness::profile::Profiles;
use harness::render;
use harness::submission::{SignedUrls, Submission};
use harness::submit::ReceiptOutcome;
use serde_json::Value;

/// No more locked packages than this, of all targets and with those of the tests. Whoever raises it says in the
/// commit which dependency was worth it.
const MOST_LOCKED_PACKAGES: usize = 310;

/// Pages whose claims name the tests that show them, as `target::name`.
const CLAIMS: [&str; 1] = ["docs/security.md"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The first cell of each row of the tables in `document`, where it is one word in backquotes.
fn first_cells(document: &str) -> Vec<String> {
    let word = |line: &str| {
        let cell = line.strip_prefix("| `")?.split_once("` |")?.0;
        (!cell.contains('`')).then(|| cell.to_owned())
    };
    document.lines().filter_map(word).collect()
}

/// The part of `document` below the heading `title`, up to the next one of the same level.
fn section<'a>(document: &'a str, title: &str) -> &'a str {
    let start = document.find(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("## {title}"));
    let body = &document[start + 4..];
    body.find("\n## ").map_or(body, |end| &body[..end])
}

/// Each of `expected` once, and nothing else.
fn assert_same(found: &[String], expected: impl IntoIterator<Item = String>, place: &str) {
    let set: BTreeSet<String> = found.iter().cloned().collect();
    assert_eq!(set.len(), found.len(), "{place} has a row twice: {found:?}");
    assert_eq!(set, expected.into_iter().collect(), "{place}");
}

#[test]
fn every_problem_code_has_one_row() {
    let names = cli::codes().into_iter().map(|code| code.name.to_owned());
    assert_same(&first_cells(&text("docs/troubleshooting.md")), names, "docs/troubleshooting.md");
}

#[test]
fn every_outcome_and_exit_code_has_one_row() {
    let document = text("docs/exit-codes.md");
    let numbers = Exit::BY_URGENCY.iter().map(|exit| exit.number().to_string());
    assert_same(&first_cells(section(&document, "Exit codes")), numbers, "exit codes");
    let outcomes = || ReceiptOutcome::ALL.iter().map(|outcome| outcome.name().to_owned());
    assert_same(&first_cells(section(&document, "Receipt outcomes")), outcomes(), "outcomes");
    let protocol = text("docs/protocol.md");
    assert_same(
        &first_cells(section(&protocol, "Outcomes and exit codes")),
        outcomes(),
        "protocol",
    );
}

#[test]
fn every_exit_code_of_a_step_has_one_row() {
    let document = text("docs/exit-codes.md");
    let steps = section(&document, "Steps of the pod");
    let failures = || Category::ALL.iter().filter(|category| **category != Category::Succeeded);
    let numbers = failures().map(|category| category.exit_code().to_string());
    assert_same(&first_cells(steps), numbers, "steps of the pod");
    for category in failures() {
        let row = format!("| `{}` | {} |", category.exit_code(), category.name());
        assert!(steps.contains(&row), "{row}");
    }
}

#[test]
fn every_outcome_of_the_ledger_has_one_row() {
    let outcomes = harness::ledger::LedgerOutcome::ALL.iter().map(|one| one.name().to_owned());
    let document = text("docs/ledger.md");
    assert_same(&first_cells(section(&document, "Receipts")), outcomes, "docs/ledger.md");
}

#[test]
fn the_order_of_exit_codes_is_the_documented_one() {
    let order: Vec<String> =
        Exit::BY_URGENCY.iter().map(|exit| exit.number().to_string()).collect();
    let sentence = format!("first of {} that occurred", order.join(", "));
    assert!(text("docs/exit-codes.md").contains(&sentence), "{sentence}");
}

/// The fenced blocks of `language` in a document.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    document
        .split(&fence)
        .skip(1)
        .map(|rest| rest.split("\n```").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn the_example_submission_is_valid_and_takes_its_signatures() {
    let blocks = blocks(&text("docs/submission.md"), "json");
    let [submission, signed] = blocks.as_slice() else { panic!("two JSON blocks: {blocks:?}") };
    let submission = Submission::parse(submission.as_bytes()).unwrap();
    assert!(submission.notes().is_empty(), "{:?}", submission.notes());
    let signed = SignedUrls::parse(signed.as_bytes()).unwrap();
    let signed = submission.sign(signed).unwrap();
    for (field, url) in signed.urls() {
        let is_signed =
            !matches!(signed.signature(field, url), harness::submission::Signed::Unsigned);
        assert!(is_signed, "{}", field.name());
    }
}

#[test]
fn the_fields_of_the_example_and_of_the_table_are_those_of_the_form() {
    let document = text("docs/submission.md");
    let example: Value = serde_json::from_str(&blocks(&document, "json")[0]).unwrap();
    let table: BTreeSet<String> = first_cells(section(&document, "Fields")).into_iter().collect();
    for field in example.as_object().unwrap().keys() {
        assert!(table.iter().any(|row| row.split('.').next() == Some(field)), "no row for {field}");
    }
    // What the parser takes is what it lists for an unknown field.
    let problems = Submission::parse(br#"{"unknown-field": 1}"#).unwrap_err();
    let unknown = problems.iter().find(|problem| problem.fault.code.name == "field-unknown");
    let allowed = unknown.unwrap().fault.allowed.trim_start_matches("one of ").to_owned();
    let form: BTreeSet<String> = allowed.split(", ").map(str::to_owned).collect();
    let rows: BTreeSet<String> =
        table.iter().map(|row| row.split('.').next().unwrap().to_owned()).collect();
    assert_eq!(rows, form);
}

#[test]
fn the_worked_example_of_signed_life_is_what_the_code_computes() {
    let document = text("docs/submission.md");
    let submission = Submission::parse(blocks(&document, "json")[0].as_bytes()).unwrap();
    let profiles = Profiles::embedded();
    let fitted = render::fit(&submission, &profiles).unwrap();
    let deadlines = fitted.deadlines;
    for line in [
        format!(
            "pod deadline = 180 + 180 + {} + 120 = {}\n",
            submission.max_seconds(),
            deadlines.pod
        ),
        format!("Job deadline = 240 + {} + 60 = {}\n", deadlines.pod, deadlines.job),
        format!(
            "inputs: 0 + 240 + 180 + 180 = {}; with the margin {} s",
            deadlines.inputs_needed_for.as_secs(),
            deadlines.inputs_needed_for.as_secs() + 900
        ),
        format!(
            "result: 0 + {} = {}; with the margin {} s",
            deadlines.job,
            deadlines.output_needed_for.as_secs(),
            deadlines.output_needed_for.as_secs() + 900
        ),
    ] {
        assert!(document.contains(line.trim_end()), "{line}");
    }
}

/// Every Markdown file that is part of the repository.
fn documents() -> Vec<PathBuf> {
    let mut documents: Vec<PathBuf> = Vec::new();
    for folder in ["", "docs", "docs/adr", "tests/cluster", "tests/store"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents.sort();
    documents
}

/// The anchors that GitHub gives the headings of a document.
fn anchors(document: &str) -> BTreeSet<String> {
    let anchor = |line: &str| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len() && heading.starts_with(' ')).then(|| {
            let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
            heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
        })
    };
    document.lines().filter_map(anchor).collect()
}

/// The targets of the inline links of a document, outside of code.
fn links(document: &str) -> Vec<String> {
    let outside = document.split("```").step_by(2);
    let target = |rest: &str| rest.split_once(')').map(|(target, _)| target.to_owned());
    // A link's text may be broken over two lines, its target may not.
    outside.flat_map(|part| part.split("](").skip(1).filter_map(target)).collect()
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut checked = 0;
    for document in documents() {
        let own = fs::read_to_string(&document).unwrap();
        for link in links(&own) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() {
                document.clone()
            } else {
                document.parent().unwrap().join(path)
            };
            assert!(target.exists(), "{}: {link}", document.display());
            if !anchor.is_empty() {
                let anchors = anchors(&fs::read_to_string(&target).unwrap());
                assert!(anchors.contains(anchor), "{}: {link}", document.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} links were found");
}

/// The tests of a target: those in `tests/TARGET.rs` or `tests/TARGET/`, or `lib`'s.
fn has_test(target: &str, name: &str) -> bool {
    let places = match target {
        "lib" => vec![root().join("src")],
        target => {
            vec![root().join("tests").join(target), root().join(format!("tests/{target}.rs"))]
        }
    };
    let mut open: Vec<PathBuf> = places.into_iter().filter(|place| place.exists()).collect();
    let head = format!("fn {name}() {{");
    while let Some(place) = open.pop() {
        if place.is_dir() {
            open.extend(fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()));
        } else if fs::read_to_string(&place).is_ok_and(|text| text.contains(&head)) {
            return true;
        }
    }
    false
}

#[test]
fn every_test_that_a_claim_rests_on_exists() {
    for page in CLAIMS {
        let document = text(page);
        let words = document.split('`').skip(1).step_by(2);
        let tests: Vec<_> = words.filter_map(|word| word.split_once("::")).collect();
        assert!(tests.len() > 1, "{page} names no test");
        for (target, name) in tests {
            let is_pattern = (target, name) == ("target", "name");
            assert!(is_pattern || has_test(target, name), "{page}: {target}::{name}");
        }
    }
}

#[test]
fn the_code_map_names_every_folder_and_file() {
    let map = text("docs/architecture.md");
    for folder in [
        "src",
        "src/cli",
        "src/submission",
        "src/profile",
        "src/render",
        "src/cluster",
        "src/submit",
        "src/status",
        "src/ledger",
    ] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            // A folder beside a file of its name is part of that file.
            let is_part = path.is_dir() && path.with_extension("rs").exists();
            if is_part || matches!(name.as_str(), "mod.rs" | "tests.rs" | "tests") {
                continue;
            }
            let shown = if path.is_dir() { format!("`{name}/`") } else { format!("`{name}`") };
            assert!(map.contains(&shown), "docs/architecture.md has no {shown} ({folder})");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the dependencies are what cargo says they are")]
fn metadata() -> Value {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The packages that come from elsewhere.
fn foreign(metadata: &Value) -> Vec<&Value> {
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().filter(|package| !package["source"].is_null()).collect()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap()
}

/// The texts in the list `key = [...]` of a section of deny.toml; of tables, those of `crate`.
fn deny_list(section: &str, key: &str) -> Vec<String> {
    let document = text("deny.toml");
    let section = document.split_once(&format!("\n[{section}]\n")).unwrap().1;
    let list = section
        .split_once(&format!("\n{key} = [\n"))
        .or_else(|| section.strip_prefix(&format!("{key} = [\n")).map(|rest| ("", rest)));
    let list = list.unwrap().1.split_once("\n]").unwrap().0;
    let entry = |line: &str| {
        let quoted = line.trim().trim_start_matches("{ crate = ").strip_prefix('"')?;
        quoted.split_once('"').map(|(text, _)| text.to_owned())
    };
    list.lines().filter_map(entry).collect()
}

/// The crates that may use a banned one all the same.
fn wrappers(banned: &str) -> Vec<String> {
    let document = text("deny.toml");
    let entry = format!("{{ crate = \"{banned}\", wrappers = [");
    let Some((_, rest)) = document.split_once(&entry) else { return Vec::new() };
    let list = rest.split_once(']').unwrap().0;
    list.split(',').map(|name| name.trim().trim_matches('"').to_owned()).collect()
}

/// The names of the packages that depend on `package`.
fn users(metadata: &Value, package: &Value) -> Vec<String> {
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let depends = |node: &&Value| node["dependencies"].as_array().unwrap().contains(&package["id"]);
    let packages = metadata["packages"].as_array().unwrap();
    let named =
        |node: &Value| packages.iter().find(|package| package["id"] == node["id"]).map(name);
    nodes.iter().filter(depends).filter_map(named).map(str::to_owned).collect()
}

/// Whether an SPDX expression can be met with the allowed licences. `AND` binds closer than `OR`; what stands in
/// parentheses goes first; the old form `MIT/Apache-2.0` means `OR`.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    if let Some(open) = expression.rfind('(') {
        let close = open + expression[open..].find(')').expect("parentheses are closed");
        let inner = if is_allowed(&expression[open + 1..close], allowed) { "yes" } else { "no" };
        let whole = format!("{}{inner}{}", &expression[..open], &expression[close + 1..]);
        return is_allowed(&whole, allowed);
    }
    let is_met = |licence: &str| licence.trim() == "yes" || allowed.contains(licence.trim());
    let alternatives = expression.replace('/', " OR ");
    alternatives.split(" OR ").any(|alternative| alternative.split(" AND ").all(is_met))
}

#[test]
fn licence_expressions_are_read_as_spdx_means_them() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "ISC".to_owned()]);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND ISC", true),
        ("MIT AND GPL-3.0", false),
        ("(GPL-3.0 OR MIT) AND ISC", true),
        ("(GPL-3.0 OR MIT) AND GPL-3.0", false),
        ("GPL-3.0 WITH Classpath-exception-2.0 OR ISC", true),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn dependencies_have_allowed_licences() {
    let allowed: BTreeSet<String> = deny_list("licenses", "allow").into_iter().collect();
    assert!(allowed.contains("MIT"), "{allowed:?}");
    let metadata = metadata();
    for package in foreign(&metadata) {
        let licence = package["license"].as_str().unwrap_or("(none declared)");
        assert!(is_allowed(licence, &allowed), "{}: {licence}", name(package));
    }
}

#[test]
fn dependencies_are_not_banned_and_come_from_the_registry() {
    let banned = deny_list("bans", "deny");
    assert!(banned.contains(&"openssl".to_owned()), "{banned:?}");
    let registries = text("deny.toml");
    let metadata = metadata();
    for package in foreign(&metadata) {
        let name = name(package);
        if banned.iter().any(|banned| banned == name) {
            let wrappers = wrappers(name);
            for user in users(&metadata, package) {
                assert!(
                    wrappers.contains(&user),
                    "{name} is banned in deny.toml, and {user} uses it"
                );
            }
        }
        let source = package["source"].as_str().unwrap();
        let registry =
            source.strip_prefix("registry+").unwrap_or_else(|| panic!("{name}: {source}"));
        assert!(registries.contains(&format!("\"{registry}\"")), "{name}: {source}");
    }
}

#[test]
fn dependencies_are_few_and_not_there_twice() {
    let metadata = metadata();
    let foreign = foreign(&metadata);
    assert!(
        foreign.len() <= MOST_LOCKED_PACKAGES,
        "{} locked packages, and the ceiling is {MOST_LOCKED_PACKAGES}",
        foreign.len()
    );
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for package in foreign {
        *versions.entry(name(package)).or_default() += 1;
    }
    let twice = versions.into_iter().filter(|(_, count)| *count > 1);
    let twice: Vec<String> = twice.map(|(name, _)| name.to_owned()).collect();
    assert_same(
        &twice,
        deny_list("bans", "skip"),
        "crates of several versions, and `skip` of deny.toml",
    );
}

#[test]
fn dependencies_are_explained_one_by_one() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let ours = packages.iter().filter(|package| package["source"].is_null());
    let direct: BTreeSet<String> = ours
        .flat_map(|package| package["dependencies"].as_array().unwrap())
        .filter(|dependency| dependency["path"].is_null())
        .map(|dependency| name(dependency).to_owned())
        .collect();
    assert_same(&first_cells(&text("docs/dependencies.md")), direct, "docs/dependencies.md");
}

#[test]
fn the_page_on_status_has_every_phase_and_category_as_the_code_says_it() {
    let page = text("docs/status.md");
    for phase in harness::status::Phase::ALL {
        assert!(page.contains(&format!("\n| `{}` | ", phase.name())), "{}", phase.name());
    }
    for category in harness::status::Category::all() {
        let remedy = if category.remedy().is_empty() { "nothing" } else { category.remedy() };
        let row = format!("\n| `{}` | {} | {remedy} |\n", category.name(), category.summary());
        assert!(page.contains(&row), "docs/status.md has no row{row}");
    }
}
