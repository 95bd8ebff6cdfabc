//! Short programs for single rules.
