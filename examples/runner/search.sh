#!/bin/sh
# An example runner: reads the mission and the snapshot, "searches", and leaves one file. The same inputs give the
# same bytes. What a runner finds and must do is said by the HARNESS_* variables.
set -eu

echo "mission: $(wc -c <"$HARNESS_MISSION") bytes; at most $HARNESS_BUDGET_SECONDS seconds"

# The file whose digest sorts last counts as the best prediction.
best=$(find "$HARNESS_SNAPSHOT" -type f -exec sha256sum {} + | cut -c 1-64 | sort | tail -n 1)

# A reader never finds half a file.
echo "{\"best\": \"$best\"}" >"$HARNESS_OUTPUT/prediction.json.part"
mv "$HARNESS_OUTPUT/prediction.json.part" "$HARNESS_OUTPUT/prediction.json"
echo "best: $best"
