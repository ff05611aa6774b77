//! Real programs from OCI images: their root file systems, unpacked before anything starts.

use std::collections::BTreeMap;
use std::path::Path;

use stowplan_image::RootConfig;
use stowplan_model::RealService;

use crate::error::ExperimentError;

/// Unpacks the image of every service that has one into `store`, and lets the service have what the image says
/// where the stack says nothing. Gives the images' digests by `image of SERVICE`.
///
/// # Errors
/// When an image cannot be unpacked, or neither it nor the stack names a program.
pub(crate) fn unpack_images(
    services: &mut [RealService],
    store: &Path,
) -> Result<BTreeMap<String, String>, ExperimentError> {
    let mut digests = BTreeMap::new();
    for service in services {
        let Some(image) = &service.image else {
            continue;
        };
        let failed = |what: String| ExperimentError::Name {
            what: format!("service '{}': {what}", service.name),
        };
        let root =
            stowplan_image::unpack(image, store).map_err(|source| ExperimentError::RealImage {
                service: service.name.to_string(),
                source,
            })?;
        if service.command.is_empty() && root.config.command.is_empty() {
            return Err(failed(format!(
                "neither the stack nor {image} has a command"
            )));
        }
        let of = format!("image of {}", service.name);
        digests.insert(of, root.digest);
        service.rootfs = Some(root.dir.display().to_string());
        complete(service, root.config);
    }
    Ok(digests)
}

/// What the stack says goes before what the image says.
fn complete(service: &mut RealService, image: RootConfig) {
    if service.command.is_empty() {
        service.command = image.command;
    }
    let own = std::mem::take(&mut service.env);
    let is_own = |name: &str| own.iter().any(|(own, _)| own == name);
    service.env = image.env;
    service.env.retain(|(name, _)| !is_own(name));
    service.env.extend(own);
    service.user = service.user.take().or(image.user);
    service.working_dir = service.working_dir.take().or(image.working_dir);
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: &str = r"
name: beside
description: One node beside a real program.
profile: minimal
topics: { /x: 4 }
modules: { m: { nodes: { n: { timer: 10Hz, publishes: /x } } } }
services:
  real:
    image: /images/camera
    env: { A: own }
    user: ros
";

    fn service() -> RealService {
        let stack =
            stowplan_spec::parse_stack(STACK, "test.yaml").unwrap_or_else(|e| panic!("{e}"));
        stack.services[0].clone()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn what_the_stack_says_goes_before_what_the_image_says() {
        let mut real = service();
        let image = RootConfig {
            command: vec!["/camera".to_owned()],
            env: vec![pair("A", "image"), pair("B", "image")],
            user: Some("root".to_owned()),
            working_dir: Some("/srv".to_owned()),
        };
        complete(&mut real, image);
        assert_eq!(real.command, ["/camera"]);
        assert_eq!(real.env, [pair("B", "image"), pair("A", "own")]);
        assert_eq!(real.user.as_deref(), Some("ros"));
        assert_eq!(real.working_dir.as_deref(), Some("/srv"));
    }

    #[test]
    fn an_image_that_cannot_be_used_is_named_with_its_service() {
        let store = tempfile::tempdir().unwrap();
        let error = unpack_images(&mut [service()], store.path()).unwrap_err();
        let text = stowplan_host::chain(&error);
        assert!(
            text.contains("'real'") && text.contains("/images/camera"),
            "{text}"
        );
    }
}
