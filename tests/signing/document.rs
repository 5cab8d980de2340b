//! The snippets of docs/signing.md, taken from the document itself.

const DOCUMENT: &str = include_str!("../../docs/signing.md");

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The heading above it.
    pub(crate) section: &'static str,
    pub(crate) language: &'static str,
    pub(crate) text: &'static str,
}

/// All blocks that name a language, in their order.
pub(crate) fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for part in DOCUMENT.split("\n## ").skip(1) {
        let (section, mut rest) = part.split_once('\n').unwrap();
        while let Some((_, after)) = rest.split_once("\n```") {
            let (language, body) = after.split_once('\n').unwrap();
            let (text, after) = body.split_once("\n```").unwrap();
            if !language.is_empty() {
                blocks.push(Block { section, language, text });
            }
            rest = after;
        }
    }
    blocks
}

/// The blocks of a section in a language; there must be so many.
pub(crate) fn snippets<const COUNT: usize>(section: &str, language: &str) -> [&'static str; COUNT] {
    let fits = |block: &Block| block.section == section && block.language == language;
    let found: Vec<&str> = blocks().into_iter().filter(fits).map(|block| block.text).collect();
    found.try_into().unwrap_or_else(|found| panic!("{section}, {language}: {found:?}"))
}
