// The rooms that keep promises: their sources, and the tests that must fail for a fault in them. `first`: quick tests
// among them, which run before the others.
export const rooms = {
  tokens: {
    sources: ['src/server/auth.ts', 'src/store/rules/people.ts'],
    tests: [
      'test/server/app.test.ts',
      'test/server/studies.test.ts',
      'test/server/limits.test.ts',
      'test/store/sqlite.test.ts',
      'test/cli/tokens.test.ts',
    ],
  },
  limits: {
    sources: ['src/server/caller-limits.ts', 'src/server/byte-budget.ts', 'src/server/read-body.ts'],
    first: ['test/server/caller-limiter.test.ts', 'test/server/byte-budget.test.ts', 'test/server/read-body.test.ts'],
    tests: [
      'test/server/caller-limiter.test.ts',
      'test/server/limits.test.ts',
      'test/server/route-limits.test.ts',
      'test/process/server/leaked-link.test.ts',
      'test/server/byte-budget.test.ts',
      'test/server/read-body.test.ts',
    ],
  },
  put: {
    sources: [
      'src/intake/put-batch.ts',
      'src/intake/check-entry.ts',
      'src/store/rules/usercache.ts',
      'src/store/rules/identities.ts',
    ],
    tests: ['test/intake', 'test/server/put.test.ts', 'test/store/sqlite.test.ts', 'test/faults/store/model.test.ts'],
  },
  transactions: {
    sources: [
      'src/store/sqlite/sqlite-transactions.ts',
      'src/store/sqlite/folder.ts',
      'src/store/sqlite/sqlite-rows.ts',
    ],
    tests: [
      'test/store/sqlite',
      'test/store/sqlite-engine.test.ts',
      'test/store/sqlite.test.ts',
      'test/faults/disk.test.ts',
    ],
  },
  move: {
    sources: ['src/store/rules/move.ts', 'src/store/chunks/batch.ts', 'src/pipeline/move-to-long-term.ts'],
    tests: [
      'test/pipeline',
      'test/process/cli/errors.test.ts',
      'test/store/sqlite.test.ts',
      'test/faults/move.test.ts',
      'test/faults/store/model.test.ts',
    ],
  },
  chain: {
    sources: [
      'src/pipeline/analyse-trips.ts',
      'src/pipeline/write-documents.ts',
      'src/pipeline/document-keys.ts',
      'src/pipeline/read-stretch.ts',
    ],
    tests: [
      'test/pipeline',
      'test/faults/analysis/stretches.test.ts',
      'test/diary/corrections',
      'test/faults/move.test.ts',
      'test/upkeep',
    ],
  },
  leases: {
    sources: ['src/pipeline/lease.ts', 'src/pipeline/run-pipeline.ts', 'src/store/rules/accounts.ts'],
    tests: ['test/pipeline', 'test/store/sqlite.test.ts', 'test/faults/stale-run.test.ts'],
  },
  erase: {
    sources: ['src/store/rules/erase-rows.ts', 'src/log/scrub.ts', 'src/cli/commands/erase.ts'],
    first: ['test/cli/erase.test.ts'],
    tests: [
      'test/store/sqlite.test.ts',
      'test/faults/store/sqlite/wiped.test.ts',
      'test/faults/isolation.test.ts',
      'test/process/log/scrub.test.ts',
      'test/process/store/sqlite/synced.test.ts',
      'test/cli/commands.test.ts',
      'test/cli/erase.test.ts',
      'test/process/cli/process.test.ts',
      'test/server/erased.test.ts',
    ],
  },
  corrections: {
    sources: [
      'src/diary/corrections/apply.ts',
      'src/diary/corrections/corrected-trips.ts',
      'src/diary/corrections/new-correction.ts',
      'src/diary/corrections/read-corrections.ts',
    ],
    first: ['test/diary/corrections/apply.test.ts', 'test/diary/corrections/read-overlays.test.ts'],
    tests: ['test/diary/corrections', 'test/cli/correct.test.ts'],
  },
  gaps: {
    sources: ['src/analysis/clean/gaps.ts'],
    tests: ['test/analysis/silences.test.ts', 'test/analysis/analyse.test.ts'],
  },
  observed: {
    sources: ['src/diary/observed-time.ts'],
    tests: ['test/diary/observed-time.test.ts', 'test/diary/flags.test.ts'],
  },
  status: {
    sources: ['src/diary/status/all-statuses.ts', 'src/diary/status/person-status.ts', 'src/diary/status/remedies.ts'],
    tests: ['test/diary/status', 'test/cli/users.test.ts'],
  },
  pages: {
    sources: [
      'src/web/pages/day-bar.ts',
      'src/web/pages/day-items.ts',
      'src/web/pages/day-map.ts',
      'src/web/pages/overview.ts',
      'src/web/shown-days.ts',
    ],
    first: ['test/web/pages/day-items.test.ts', 'test/web/pages/day-map.test.ts', 'test/web/pages/overview.test.ts'],
    tests: ['test/web/pages', 'test/web/corrections.test.ts', 'test/web/correction-forms.test.ts'],
  },
  web: {
    sources: [
      'src/server/web-pages.ts',
      'src/web/me-corrections.ts',
      'src/web/sessions.ts',
      'src/web/sign-in-limits.ts',
      'src/web/sign-in.ts',
    ],
    tests: ['test/web/corrections.test.ts', 'test/web/correction-forms.test.ts', 'test/web/security.test.ts'],
  },
  explain: {
    sources: ['src/diary/explain/explain-day.ts'],
    tests: ['test/diary/explain'],
  },
  retain: {
    sources: ['src/upkeep/retain-user.ts', 'src/cli/commands/retain.ts'],
    first: ['test/upkeep/retain-links.test.ts', 'test/upkeep/retain-user.test.ts'],
    tests: [
      'test/cli/retain.test.ts',
      'test/cli/interrupted.test.ts',
      'test/upkeep/retain-links.test.ts',
      'test/upkeep/retain-user.test.ts',
    ],
  },
  bundle: {
    sources: ['src/evaluate/bundle.ts', 'src/evaluate/find-case.ts'],
    tests: ['test/evaluate/bundle.test.ts'],
  },
  backup: {
    sources: ['src/upkeep/backup-store.ts', 'src/upkeep/copy-store.ts', 'src/store/sqlite/folder.ts'],
    first: ['test/cli/migrate.test.ts'],
    tests: [
      'test/process/store/sqlite/backup.test.ts',
      'test/process/store/sqlite/synced.test.ts',
      'test/cli/migrate.test.ts',
      'test/cli/store.test.ts',
      'test/cli/retain.test.ts',
    ],
  },
  import: {
    sources: ['src/import/import-source.ts', 'src/import/import-format.ts', 'src/import/entries/export-folder.ts'],
    first: ['test/import/import-parts.test.ts'],
    tests: [
      'test/import/import-parts.test.ts',
      'test/import/import.test.ts',
      'test/import/round-trip.test.ts',
      'test/import/emission.test.ts',
    ],
  },
  privacy: {
    sources: ['src/export/privacy.ts', 'src/export/table-rows.ts'],
    tests: ['test/export/'],
  },
  report: {
    sources: ['src/figures/disclose.ts', 'src/figures/month-report.ts', 'src/figures/tally.ts'],
    tests: ['test/figures'],
  },
  labels: {
    sources: ['src/diary/labels/match-inputs.ts', 'src/diary/labels/user-labels.ts', 'src/diary/labels/load-labels.ts'],
    tests: ['test/diary', 'test/cli/label.test.ts'],
  },
};
