//! The body of a change of aliases (C12).

use super::body::{self, Result};
use crate::catalog::AliasAction;
use crate::json::Reader;
use crate::limits::Limits;
use crate::name::collection_name_fault;

/// Reads `{actions: […]}`.
pub(super) fn read_actions(reader: &mut Reader<'_>, limits: &Limits) -> Result<Vec<AliasAction>> {
    let mut actions = None;
    reader.object(|r, key| {
        match key {
            "actions" => {
                let what = "actions a request (max_points_per_request)";
                actions = r.optional(|r| body::list(r, limits.max_points_per_request, what, read_action))?;
            }
            _ => r.unknown_in_body()?,
        }
        Ok(())
    })?;
    actions.ok_or_else(|| reader.missing("actions"))
}

/// Reads an object with one action.
fn read_action(reader: &mut Reader<'_>) -> Result<AliasAction> {
    let (mut action, mut is_one) = (None, true);
    reader.object(|r, key| {
        let read = match key {
            "create_alias" => r.optional(read_creation)?,
            "delete_alias" => r.optional(read_deletion)?,
            "rename_alias" => r.optional(read_renaming)?,
            _ => return r.unknown(),
        };
        is_one &= read.is_none() || action.is_none();
        action = read.or_else(|| action.take());
        Ok(())
    })?;
    match action {
        Some(action) if is_one => Ok(action),
        _ => Err(reader.error("expected one of create_alias, delete_alias, rename_alias")),
    }
}

fn read_creation(reader: &mut Reader<'_>) -> Result<AliasAction> {
    let [alias, collection] = read_names(reader, ["alias_name", "collection_name"], Some("alias_name"))?;
    Ok(AliasAction::Create { alias, collection })
}

fn read_deletion(reader: &mut Reader<'_>) -> Result<AliasAction> {
    let [alias] = read_names(reader, ["alias_name"], None)?;
    Ok(AliasAction::Delete { alias })
}

fn read_renaming(reader: &mut Reader<'_>) -> Result<AliasAction> {
    let [from, to] = read_names(reader, ["old_alias_name", "new_alias_name"], Some("new_alias_name"))?;
    Ok(AliasAction::Rename { from, to })
}

/// Reads an object of required names. The one of the field `made` is that of a new alias, which has the rules of C2.2.
fn read_names<const N: usize>(
    reader: &mut Reader<'_>,
    fields: [&'static str; N],
    made: Option<&str>,
) -> Result<[String; N]> {
    let mut names = [const { None }; N];
    reader.object(|r, key| {
        let Some(at) = fields.iter().position(|field| *field == key) else { return r.unknown() };
        names[at] = r.optional(|r| {
            let name = r.string()?.into_owned();
            match collection_name_fault(&name).filter(|_| made == Some(key)) {
                Some(fault) => Err(r.error(fault)),
                None => Ok(name),
            }
        })?;
        Ok(())
    })?;
    let mut found = [const { String::new() }; N];
    for ((name, field), place) in names.into_iter().zip(fields).zip(&mut found) {
        *place = name.ok_or_else(|| reader.missing(field))?;
    }
    Ok(found)
}
