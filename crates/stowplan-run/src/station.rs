//! What the experiments of a session run on: the agent, the machine, engines and images.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use stowplan_engine::EngineError;
use stowplan_host::Host;
use stowplan_image::{Image, ImageSpec, LibFile};
use stowplan_measure::lower::start_up_files;
use stowplan_model::{Place, Stack, WorkSpeed};
use stowplan_plan::MachineFacts;
use stowplan_remote::{AgentHost, Network};
use stowplan_spec::Spec;

use crate::cdi;
use crate::dds;
use crate::engines::{CallerEngines, Engines, Usable};
use crate::error::ExperimentError;
use crate::missing::{require_cpus, require_places};
use crate::network;
use crate::prepare::{Prepared, prepare};
use crate::programs::Programs;
use crate::real::unpack_images;
use crate::request::Request;
use crate::speed;

/// An experiment that can be run.
pub(crate) struct Ready {
    pub(crate) request: Request,
    pub(crate) prepared: Prepared,
    pub(crate) image: Image,
}

/// The agent, the machine and the engines of a session.
pub(crate) struct Station<'a> {
    pub(crate) host: Rc<AgentHost>,
    pub(crate) engines: Engines<'a>,
    pub(crate) facts: stowplan_wire::host::MachineFacts,
    programs: &'a Programs,
    /// Places for which the experiment is in the machine's network though nobody asked for it.
    outside_network: Vec<String>,
}

impl<'a> Station<'a> {
    /// Starts the agent in the network that the experiment asks for, or in the machine's where services of a place cannot be in
    /// another.
    pub(crate) fn start(
        request: &Request,
        programs: &'a Programs,
        outside: CallerEngines<'a>,
        agent_started: &mut dyn FnMut(u32),
    ) -> Result<Self, ExperimentError> {
        let spec = request.spec()?;
        can_trace(spec.stack())?;
        let mut host = AgentHost::spawn(&programs.agent, request.network())?;
        let mut engines = Engines::new(&host, outside)?;
        let outside_network = network::outside(request, spec.stack(), engines.known())?;
        if !outside_network.is_empty() {
            // An agent does not leave the network that it has entered.
            host = AgentHost::spawn(&programs.agent, Network::Machine)?;
            engines = Engines::new(&host, outside)?;
        }
        agent_started(host.agent_pid());
        let facts = host.facts()?;
        Ok(Self {
            engines,
            host,
            facts,
            programs,
            outside_network,
        })
    }

    /// Plans an experiment and makes its image.
    pub(crate) fn ready(
        &self,
        request: Request,
        speed: &WorkSpeed,
    ) -> Result<Ready, ExperimentError> {
        let mut request = request.calibrated(speed)?;
        request.options.host_network |= !self.outside_network.is_empty();
        Ok(Ready {
            prepared: self.prepared(&request, speed)?,
            image: self.image(&request)?,
            request,
        })
    }

    /// The image of the node program with the start-up files of the experiment's stack.
    fn image(&self, request: &Request) -> Result<Image, ExperimentError> {
        let spec = request.spec()?;
        let libs = start_up_files(spec.stack())
            .into_iter()
            .map(|(path, bytes)| LibFile { path, bytes })
            .collect();
        let image = ImageSpec {
            node_program: self.programs.node.clone(),
            libs,
        };
        let image = stowplan_image::build(&image, &self.programs.image_store)?;
        Ok(image)
    }

    /// The one speed by which the work of all these experiments is planned.
    pub(crate) fn calibrate(&self, requests: &[Request]) -> Result<WorkSpeed, ExperimentError> {
        let specs = requests.iter().map(Request::spec);
        let specs = specs.collect::<Result<Vec<_>, _>>()?;
        let image = self.image(&requests[0])?;
        let stacks = specs.iter().map(Spec::stack);
        Ok(speed::calibrate(&self.host, &image, stacks)?)
    }

    /// Fails where the experiment asks for what this machine does not have, before anything is started.
    pub(crate) fn require(&self, request: &Request) -> Result<(), ExperimentError> {
        let spec = request.spec()?;
        require_cpus(request, &self.facts.cpus)?;
        require_places(request, spec.stack(), &self.engines)
    }

    /// The plan of what can run of an experiment.
    pub(crate) fn planned(
        &self,
        request: &Request,
        speed: &WorkSpeed,
    ) -> Result<Prepared, ExperimentError> {
        let machine = MachineFacts {
            cpus: self.facts.cpu_count(),
            speed: Some(speed.clone()),
            memory_bytes: Some(self.facts.memory_bytes),
            multicast: dds::has_multicast(&self.facts),
        };
        let mut found: BTreeMap<Place, Result<Usable, String>> = BTreeMap::new();
        let known = self.engines.known();
        let mut prepared = prepare(request, &machine, known, &mut |place| {
            found
                .entry(place.clone())
                .or_insert_with(|| self.engines.usable(place).map_err(|e| in_words(&e)))
                .clone()
        })?;
        let note = network::note(&self.outside_network);
        prepared.warnings.extend(note);
        Ok(prepared)
    }

    /// What can run of an experiment, with the images of its real programs.
    fn prepared(&self, request: &Request, speed: &WorkSpeed) -> Result<Prepared, ExperimentError> {
        let mut prepared = self.planned(request, speed)?;
        prepared.replay = request.replayed_inputs()?;
        // After the refusals: an engine that cannot use an image may be the only one asked for.
        let services = &mut prepared.stack.services;
        prepared.image_digests = unpack_images(services, &self.programs.image_store)?;
        let folders = cdi::FOLDERS.map(Path::new);
        for planned in &mut prepared.deployments {
            let place = &planned.deployment.place.engine;
            let can = self.engines.get(&place.name)?.capabilities();
            let can = can.variant(place.variant.as_deref());
            let gives = |device: &str| can.is_some_and(|can| can.gives(device));
            planned.real.clone_from(&prepared.stack.services);
            let lacks = cdi::resolve(&mut planned.real, &folders, gives)?;
            // Most deployments lack the same.
            for lack in lacks {
                if !prepared.warnings.contains(&lack) {
                    prepared.warnings.push(lack);
                }
            }
        }
        Ok(prepared)
    }
}

/// Better said before anything is made.
fn can_trace(stack: &Stack) -> Result<(), ExperimentError> {
    let Some(traced) = stack.services.iter().find(|service| service.trace) else {
        return Ok(());
    };
    let found = stowplan_lttng::Tools::find();
    found.map(drop).map_err(|source| ExperimentError::Lttng {
        service: traced.name.to_string(),
        source,
    })
}

fn in_words(error: &EngineError) -> String {
    let hint = error
        .hint
        .as_ref()
        .map(|hint| format!(" (hint: {hint})"))
        .unwrap_or_default();
    format!("{}{hint}", stowplan_host::chain(error))
}
