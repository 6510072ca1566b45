// The metrics as Prometheus reads them, and examples/deploy/alerts.yaml when an operator must hear of something.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { androidLocation, countedCalls, now, openKit } from '../../server/kit.ts';
import { tempFolder } from '../../support/clean-up.ts';
import { isHere } from '../../support/needs.ts';

const project = fileURLToPath(new URL('../../..', import.meta.url));
const promtool = join(project, '.debian/usr/bin/promtool');
const hasPromtool = isHere('promtool in .debian (`npm run test:proxies`)', existsSync(promtool));

const rules = join(project, 'examples/deploy/alerts.yaml');

const run = (args: string[], input = ''): string => {
  const { status, stdout, stderr } = spawnSync(promtool, args, { input, encoding: 'utf8' });
  return `${status}: ${stdout}${stderr}`;
};

/** The text of `/metrics` of a server at work, in which each counted thing happened `events` times. */
async function metricsAfter(events: number): Promise<string> {
  const metrics = countedCalls();
  const kit = await openKit({ metrics });
  await kit.user('ada');
  const entries = Array.from({ length: events }, () => ({ no: 'entry' }));
  if (events > 0) await kit.put([androidLocation(now), ...entries]);
  for (let n = 0; n < events; n += 1) {
    metrics.figures.countCall({ handler: 'userCache.put', cause: 'server' }, 503, 0.1);
    metrics.figures.countLimit('calls_per_minute');
  }
  return (await kit.request('/metrics')).text;
}

/** The samples of a text, by series. */
const samplesOf = (text: string): Map<string, string> =>
  new Map([...text.matchAll(/^(mobility_.*) (\S+)$/gm)].map(([, series, value]) => [series!, value!]));

/** Alerts that must fire in a situation; each series takes its values minute by minute. */
type Situation = [title: string, at: string, fires: string[], series: Record<string, string>];

/** A series that rises after an hour. */
function rise(at: string, alert: string, series: string, values: string): Situation {
  return [`${series} rises`, at, [alert], { [series]: `0x60 ${values}` }];
}

/** Series that a fresh server does not have: the ones of Prometheus itself and of a study. */
const others = ['up{job="mobility"}', 'mobility_study_joined_last_hour{study="sunny"}'];

/** Runs the alerts over situations, each beside the series that a server gives from its start. */
async function judge(situations: readonly Situation[]): Promise<string> {
  const folder = tempFolder();
  const quiet = samplesOf(await metricsAfter(0));
  const names = [...readFileSync(rules, 'utf8').matchAll(/alert: (\w+)/g)].map(([, name]) => name!);
  const tests = situations.map(([name, at, fires, series]) => {
    for (const one of Object.keys(series)) expect([...quiet.keys(), ...others]).toContain(one);
    const values = { ...Object.fromEntries([...quiet].map(([one, value]) => [one, `${value}x1500`])), ...series };
    return {
      ...{ name, interval: '1m' },
      input_series: Object.entries(values).map(([one, value]) => ({ series: one, values: value })),
      promql_expr_test: names.map((alert) => ({
        ...{ expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`, eval_time: at },
        exp_samples: fires.includes(alert) ? [{ labels: '{}', value: 1 }] : [],
      })),
    };
  });
  // JSON is YAML.
  const file = { rule_files: [rules], evaluation_interval: '1m', tests };
  writeFileSync(join(folder, 'test.yml'), JSON.stringify(file));
  return run(['test', 'rules', join(folder, 'test.yml')]);
}

describe.skipIf(!hasPromtool)('Prometheus', () => {
  it('accepts the metrics of a fresh server and of one in use without a warning', async () => {
    for (const events of [0, 3]) expect(run(['check', 'metrics'], await metricsAfter(events))).toBe('0: ');
  });

  it('fires each alert at the first event that it is for, and not before', async () => {
    const failing = 'mobility_calls_total{handler="userCache.put",status="503",cause="server"}';
    const still = { mobility_waiting_age_seconds: '3601x1500', mobility_failed_users: '1x1500' };
    const disk = { mobility_disk_free_bytes: '100x1500', mobility_store_bytes: '51x1500' };
    const all: Situation[] = [
      ['nothing happens', '24h', [], {}],
      rise('62m', 'CallersMeetLimits', 'mobility_limits_met_total{limit="calls_per_minute"}', '7x60'),
      rise('62m', 'EntriesSetAside', 'mobility_set_aside_entries{reason="format_unknown"}', '5000x60'),
      rise('74m', 'CallsFail', failing, '0+200x15'),
      rise('62m', 'StudyFlooded', 'mobility_study_joined_last_hour{study="sunny"}', '101x60'),
      rise('95m', 'DiariesLate', 'mobility_diary_lag_seconds{at="p95"}', '1801x60'),
      ['still and full', '40m', ['PipelineStandsStill', 'PipelineFails', 'DiskFull'], { ...still, ...disk }],
      ['a server that is down', '10m', ['MobilityDown'], { 'up{job="mobility"}': '0x60' }],
    ];
    expect(await judge(all)).toContain('SUCCESS');
  });
});
