//! The files of a design, by the names of their entities.

use std::collections::BTreeMap;
use std::path::Path;

use super::yaml::{Text, Yaml};
use crate::error::ImportError;

/// Deepest folder below a design that is looked into.
const DEEPEST_FOLDER: usize = 12;

/// Texts of systems, modules and nodes by the name of their entity, as `Lidar.module`.
#[derive(Debug, Clone, Default)]
pub struct Sources(BTreeMap<String, (String, String)>);

impl Sources {
    /// Every `*.system.yaml`, `*.module.yaml` and `*.node.yaml` in a folder and below it.
    ///
    /// # Errors
    /// When a folder or file cannot be read.
    pub fn of_folder(folder: &Path) -> std::io::Result<Self> {
        let mut sources = Self::default();
        sources.look_into(folder, 0)?;
        Ok(sources)
    }

    /// Adds the text of an entity's file.
    pub fn add(&mut self, entity: &str, file: &str, text: &str) {
        self.0
            .insert(entity.to_owned(), (file.to_owned(), text.to_owned()));
    }

    fn look_into(&mut self, folder: &Path, depth: usize) -> std::io::Result<()> {
        let mut entries: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if entry.file_type()?.is_dir() {
                if depth < DEEPEST_FOLDER {
                    self.look_into(&path, depth + 1)?;
                }
            } else if let Some(entity) = name.strip_suffix(".yaml")
                && [".system", ".module", ".node"]
                    .iter()
                    .any(|kind| entity.ends_with(kind))
            {
                let text = std::fs::read_to_string(&path)?;
                self.add(entity, &path.display().to_string(), &text);
            }
        }
        Ok(())
    }

    /// The file of the entity that a text names.
    pub(super) fn read(&self, entity: &Text) -> Result<Yaml, ImportError> {
        let Some((file, text)) = self.0.get(&entity.value) else {
            let message = format!(
                "there is no file '{}.yaml' in the folder of the design",
                entity.value
            );
            return Err(entity.place.says(message));
        };
        Yaml::read(text, file)
    }
}
