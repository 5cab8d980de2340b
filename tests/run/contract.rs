//! What every runner finds, whatever image it comes in.

use harness::execution::Ending;

use crate::kit::Pod;

const SUCCESS: Ending = Ending::Exited { code: 0 };

#[test]
fn the_runner_finds_its_inputs_its_folders_and_nothing_to_read() {
    let pod = Pod::new().contained().image_variable("CUDA_VISIBLE_DEVICES", "0");
    let ended = pod.shell(
        "set -eu; pwd; id -u; cat; cat \"$HARNESS_SNAPSHOT/data\"; grep -c mission_id \"$HARNESS_MISSION\"; \
         echo made > \"$HARNESS_OUTPUT/result\"; echo s > s; echo t > \"$TMPDIR/t\"; mkdir -p \"$XDG_CACHE_HOME/torch\"; \
         echo ${HARNESS_RESUME-none} $USER $LOGNAME $CUDA_VISIBLE_DEVICES $HARNESS_BUDGET_SECONDS $PATH; \
         test \"$HOME\" = \"$PWD\"; test \"$HARNESS_SCRATCH\" = \"$PWD\"; date -d \"$HARNESS_DEADLINE\" >/dev/null",
    );
    let report = ended.expect(0, &SUCCESS);
    assert_eq!(
        ended.said(),
        format!(
            "{}\n65532\nthe data\n1\nnone harness harness 0 60 /usr/bin:/bin\n",
            pod.places.scratch().display()
        )
    );
    assert_eq!(pod.output("result"), "made\n");
    assert_eq!(report.output_tail, ended.said());
    assert_eq!(report.output_bytes, ended.stdout.len() as u64);
    assert!(report.started_at.as_ref().unwrap() <= &report.finished_at);
    assert!(ended.stderr.contains("note: run: succeeded"), "{}", ended.stderr);
}

#[test]
fn a_resume_is_there_when_it_was_staged() {
    let pod = Pod::new();
    std::fs::create_dir(pod.places.resume()).unwrap();
    let ended = pod.shell("test -d \"$HARNESS_RESUME\"");
    ended.expect(0, &SUCCESS);
}

#[test]
fn an_images_own_resume_variable_is_not_taken_for_one() {
    let pod = Pod::new().image_variable("HARNESS_RESUME", "/old");
    pod.shell("test -z \"${HARNESS_RESUME+set}\"").expect(0, &SUCCESS);
}

/// `bash` closes what the test itself inherited, which a container never has.
#[test]
fn the_runner_has_three_descriptors_and_a_group_of_its_own() {
    let close = "for f in /proc/$$/fd/*; do n=${f##*/}; (( n > 2 )) && eval \"exec $n>&-\"; done; exec \"$@\"";
    let pod = Pod::new().before(format!("set -- bash -c '{close}' bash \"$@\""));
    let script = "import os\n\
        def is_open(number):\n  try: os.fstat(number); return True\n  except OSError: return False\n\
        print([number for number in range(1024) if is_open(number)], os.readlink('/proc/self/fd/0'))\n\
        print(os.getpgrp() == os.getpid())";
    let ended = pod.run(&["/usr/bin/python3", "-c", script]);
    ended.expect(0, &SUCCESS);
    assert_eq!(ended.said(), "[0, 1, 2] /dev/null\nTrue\n");
}

#[test]
fn an_image_says_what_to_start_when_the_submission_does_not() {
    let runner = r#"["sh", "-c", "echo from the image"]"#;
    let pod = Pod::new().image_variable("HARNESS_RUNNER", runner);
    let ended = pod.run(&[]);
    ended.expect(0, &SUCCESS);
    assert_eq!(ended.said(), "from the image\n");
    let command = ended.record.command.unwrap();
    assert_eq!(command, ["sh", "-c", "echo from the image"]);
}

#[test]
fn the_submissions_command_wins_and_is_recorded_as_it_is() {
    let pod = Pod::new().image_variable("HARNESS_RUNNER", "[\"false\"]");
    let ended = pod.run(&["sh", "-c", "echo \"$0|$1\"", "a b", "--flag=$HOME"]);
    ended.expect(0, &SUCCESS);
    assert_eq!(ended.said(), "a b|--flag=$HOME\n");
    assert_eq!(ended.record.command.unwrap()[3..], ["a b", "--flag=$HOME"]);
}

#[test]
fn times_are_of_the_runner_and_all_that_it_waited_for() {
    let burn = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; sleep 0.3";
    let ended = Pod::new().shell(burn);
    let report = ended.expect(0, &SUCCESS);
    assert!(report.wall_milliseconds >= 300, "{report:?}");
    assert!(report.cpu_milliseconds.is_some_and(|spent| spent >= 20), "{report:?}");
}

#[test]
fn a_user_without_an_entry_has_a_name() {
    let script = "import getpass, os, tempfile; print(getpass.getuser(), os.path.expanduser('~') == os.environ['HARNESS_SCRATCH'], \
                  tempfile.gettempdir() == os.environ['TMPDIR'])";
    let ended = Pod::new().contained().run(&["/usr/bin/python3", "-c", script]);
    ended.expect(0, &SUCCESS);
    assert_eq!(ended.said(), "harness True True\n");
}

/// What `render` passes is what `run` takes: the arguments of every golden Job, as the kubelet hands them over.
#[test]
fn every_rendered_job_passes_what_run_takes() {
    use clap::Parser as _;
    use harness::cli::args::{Cli, Command, PredictionCommand};

    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut commands = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_str().unwrap().ends_with(".job.json") {
            continue;
        }
        let job: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let containers = job["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        let run = containers.iter().find(|container| container["name"] == "run").unwrap();
        let arguments = run["args"].as_array().unwrap().iter();
        let arguments = arguments.map(|word| word.as_str().unwrap().replace("$$", "$"));
        let cli = Cli::try_parse_from(std::iter::once("harness".to_owned()).chain(arguments));
        let Command::Prediction(PredictionCommand::Run(options)) = cli.unwrap().command else {
            panic!("{}: not `run`", path.display());
        };
        assert!(options.max_seconds > 0 && options.output_size > 0 && options.scratch_size > 0);
        assert_eq!(options.root, std::path::Path::new("/harness"));
        assert_eq!(options.termination_log, std::path::Path::new("/dev/termination-log"));
        commands += usize::from(!options.command.is_empty());
    }
    assert!(commands > 0, "some of them have a command of their own");
}
