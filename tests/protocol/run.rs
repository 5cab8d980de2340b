//! One run of `submit` against the world, and what must be true of the world and of its receipt.

use std::sync::atomic::AtomicBool;

use harness::clock::Clock as _;
use harness::cluster::Resource;
use harness::render::compare;
use harness::submit::receipt::Turn;
use harness::submit::{Api, Limits, Plan, Receipt, ReceiptOutcome, drive};

use crate::plans::NAMESPACE;
use crate::world::{Event, Who, World};

/// Drives one plan to its receipt.
pub(crate) fn submit(
    world: &World,
    api: &dyn Api,
    plan: &Plan<'_>,
    limits: Limits,
    stop: &AtomicBool,
) -> Receipt {
    let started = world.clock.now();
    let driven = drive(api, &world.clock, limits, plan, stop);
    let turn =
        Turn { source: "-".to_owned(), namespace: NAMESPACE.to_owned(), started, milliseconds: 0 };
    Receipt::of(turn, plan, driven)
}

/// Whether the receipt of this run was true when it was printed.
pub(crate) fn check_receipt(world: &World, who: Who, receipt: &Receipt) -> Result<(), String> {
    let job = receipt.job.as_ref().ok_or("no Job in the receipt")?;
    let live = world.get(Resource::Jobs, &job.name);
    let made = world.made_by(who, Resource::Jobs) > 0;
    let may_come = made || (live.is_none() && world.floats(who, Resource::Jobs));
    let is = |claim: bool, what: &str| if claim { Ok(()) } else { Err(what.to_owned()) };
    let same = live.as_ref().is_some_and(|live| Some(&live.uid) == job.uid.as_ref());
    let clean = receipt.detail.contains("no Job") || receipt.detail.contains("nothing was created");
    is(
        !clean || !may_come,
        "the receipt says that no Job was created, yet this run's Job stands or may come",
    )?;
    let made_secret =
        world.made_by(who, Resource::Secrets) > 0 || world.floats(who, Resource::Secrets);
    is(
        !receipt.detail.contains("nothing was created") || !made_secret,
        "the receipt says that nothing was created, yet this run's Secret was",
    )?;
    match receipt.outcome {
        ReceiptOutcome::Created | ReceiptOutcome::CreatedAltered => {
            is(same, "created, but that Job does not exist")?;
            is(live.is_some_and(|live| live.maker == who), "created, but by somebody else")?;
        }
        ReceiptOutcome::AlreadySubmitted | ReceiptOutcome::Cancelled => {
            is(same, "already there, but that Job does not exist")?;
        }
        ReceiptOutcome::AlreadyRecorded => {
            is(world.get(Resource::ConfigMaps, &job.name).is_some(), "recorded, without a record")?;
        }
        ReceiptOutcome::Refused
        | ReceiptOutcome::Invalid
        | ReceiptOutcome::WouldCreate
        | ReceiptOutcome::NotStarted => {
            is(!may_come, "a clean no, yet this run's Job stands or may come")?;
        }
        ReceiptOutcome::Conflict => {
            is(!may_come || job.uid.is_some(), "a conflict that hides this run's Job")?;
        }
        ReceiptOutcome::Unknown => {
            is(
                clean || receipt.detail.contains("may have been created"),
                "an unknown that says nothing",
            )?;
        }
    }
    let secret = receipt.secret.as_ref().ok_or("no Secret in the receipt")?;
    let stands = world.get(Resource::Secrets, &secret.name);
    match secret.state {
        "created" => {
            is(world.made_by(who, Resource::Secrets) > 0, "a Secret created by somebody else")
        }
        "present" => is(stands.is_some(), "a Secret that is not there"),
        "absent" | "removed" => {
            is(stands.is_none() || world.floats(who, Resource::Secrets), "a Secret that is there")
        }
        _ => Ok(()),
    }
}

/// What must hold after every run, whatever happened: one Job ever, and nothing of others deleted.
pub(crate) fn check_history(world: &World) -> Result<(), String> {
    let history = world.history();
    let jobs = history
        .iter()
        .filter(|event| matches!(event, Event::Created { resource: Resource::Jobs, .. }))
        .count();
    if jobs > 1 {
        return Err(format!("{jobs} Jobs came to be"));
    }
    for event in &history {
        match event {
            Event::Deleted { resource, name, who, maker } if who != maker => {
                return Err(format!("{who} deleted the {} {name} of {maker}", resource.kind()));
            }
            Event::Deleted { resource, .. } if *resource != Resource::Secrets => {
                return Err("something else than a Secret was deleted".to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}

/// What must hold once a clean run went through: the Job stands, and its pod can start.
pub(crate) fn check_converged(world: &World, receipt: &Receipt) -> Result<(), String> {
    if !matches!(receipt.outcome, ReceiptOutcome::Created | ReceiptOutcome::AlreadySubmitted) {
        return Err(format!("no convergence: {} ({})", receipt.outcome.name(), receipt.detail));
    }
    let jobs = world.all(Resource::Jobs);
    let [job] = jobs.as_slice() else { return Err(format!("{} Jobs", jobs.len())) };
    let named = compare::named_secret(&job.body).ok_or("the Job names no Secret")?;
    match world.get(Resource::Secrets, &named) {
        Some(_) => Ok(()),
        None => Err("the Job's Secret is missing".to_owned()),
    }
}
