import { useState } from 'preact/hooks';
import { Figure } from '../collections/overview';
import { Failure, Notice, Waiting } from '../parts/notice';
import { bytes, count, date, duration } from '../service/format';
import { useInterval, useLoading } from '../service/loading';
import { result, send, sendRaw } from '../service/request';
import { isQdrant } from '../service/server';
import { credential } from '../service/session';
import type { Welcome } from '../service/types';
import { SnapshotList } from '../snapshots/list';
import { Chart, type Line } from './chart';
import type { Labels } from './metrics';
import type { Figures } from './prometheus';
import { look, LOOK_MS, looks } from './series';
import { Settings } from './settings';

interface Telemetry {
  readonly app: { readonly version: string; readonly startup: string };
}

const REQUESTS: readonly Line[] = [
  { label: 'answered', colour: 'accent', value: ({ answered }) => answered },
  { label: 'refused', colour: 'warn', value: ({ refused }) => refused },
  { label: 'failed', colour: 'bad', value: ({ failed }) => failed },
  { label: 'given up', colour: 'faint', value: ({ aborted }) => aborted },
];
const LATENCY: readonly Line[] = [
  { label: 'median', colour: 'accent', value: ({ median }) => median },
  { label: '99 %', colour: 'warn', value: ({ slowest }) => slowest },
];
const MEMORY: readonly Line[] = [
  { label: 'process', colour: 'accent', value: ({ held }) => held },
  { label: 'engine', colour: 'good', value: ({ engine }) => engine },
];
const READS: readonly Line[] = [
  { label: 'waiting', colour: 'warn', value: ({ waiting }) => waiting },
  { label: 'running', colour: 'accent', value: ({ running }) => running },
];
const BACKLOG: readonly Line[] = [
  { label: 'dense rows', colour: 'accent', value: ({ dense }) => dense },
  { label: 'sparse rows', colour: 'good', value: ({ sparse }) => sparse },
  { label: 'points for field indexes', colour: 'warn', value: ({ field }) => field },
];
const DISK: readonly Line[] = [
  { label: 'data', colour: 'accent', value: ({ data }) => data },
  { label: 'log', colour: 'good', value: ({ log }) => log },
];

async function about(
  signal: AbortSignal,
): Promise<{ telemetry: Telemetry; welcome: Welcome; isReady: boolean }> {
  const [telemetry, welcome, ready] = await Promise.all([
    result<Telemetry>('GET', '/telemetry', undefined, { signal }),
    send('GET', '/', undefined, { signal }) as Promise<Welcome>,
    sendRaw('GET', '/readyz', undefined, { signal }),
  ]);
  return { telemetry, welcome, isReady: ready.status === 200 };
}

/** The server: what it is, how it is, and what it does at the moment. */
export default function ServerPage() {
  const server = useLoading(about, []);
  const metrics = useLoading(look, []);
  const [isPaused, setPaused] = useState(false);
  useInterval(() => {
    if (!isPaused) metrics.refresh();
  }, LOOK_MS);
  useInterval(server.refresh, 5 * LOOK_MS);
  return (
    <>
      <header class="page-head">
        <h1>Server</h1>
        <button
          type="button"
          aria-pressed={isPaused}
          onClick={() => {
            setPaused(!isPaused);
          }}
        >
          {isPaused ? 'Go on' : 'Pause'}
        </button>
      </header>
      <Failure error={server.error ?? metrics.error} retry={server.reload} />
      {server.value === undefined && server.error === undefined && <Waiting what="the state of the server" />}
      {server.value !== undefined && (
        <dl class="figures">
          <Figure label="State">
            <span class={`status ${server.value.isReady ? 'green' : 'yellow'}`}>
              {server.value.isReady ? 'Ready' : 'Not ready'}
            </span>
          </Figure>
          <Figure label="Version">{server.value.welcome.kithdb_version}</Figure>
          <Figure label="Runs for">
            <span title={`Since ${date(server.value.telemetry.app.startup)}`}>
              {duration((Date.now() - Date.parse(server.value.telemetry.app.startup)) / 1000)}
            </span>
          </Figure>
          <Figure label="Dialect">{server.value.welcome.dialect}</Figure>
        </dl>
      )}
      {metrics.value !== undefined && <Health figures={metrics.value} />}
      <Charts />
      {metrics.value !== undefined && <Contents figures={metrics.value} />}
      <Settings />
      {isQdrant.value && <SnapshotsOfAll />}
    </>
  );
}

/** What the server did lately. */
function Charts() {
  const recent = looks.value;
  return (
    <>
      <div class="charts">
        <Chart title="Requests" unit="a second" looks={recent} lines={REQUESTS} />
        <Chart title="Latency" unit="ms" looks={recent} lines={LATENCY} />
        <Chart title="Memory" unit="MiB" looks={recent} lines={MEMORY} />
        <Chart title="Disk" unit="MiB" looks={recent} lines={DISK} />
        <Chart title="Reads" unit="at the moment" looks={recent} lines={READS} />
        <Chart title="Index backlog" unit="to be indexed" looks={recent} lines={BACKLOG} />
      </div>
      <p class="hint">
        Every two seconds, for the last five minutes that this page was open. Latencies come from the buckets
        of the server's histogram; requests for metrics are left out of both. <code>/metrics</code> has all
        figures for Prometheus.
      </p>
    </>
  );
}

/** Snapshots of all collections, which only the admin may save and recover. */
function SnapshotsOfAll() {
  const [isRecovered, setRecovered] = useState(false);
  const canRecover = credential.value?.kind === 'admin';
  return (
    <section>
      <h2>Snapshots of all collections</h2>
      <p>
        Each collection at one operation, in one file. Access tokens and the password are not in it.
        {!canRecover && ' Saving and recovering one takes the sign-in of the admin.'}
      </p>
      {isRecovered && <Notice kind="good">The collections of the snapshot are back.</Notice>}
      <SnapshotList
        of="/snapshots"
        replaced="the collections in it"
        canRecover={canRecover}
        recovered={() => {
          setRecovered(true);
        }}
      />
    </section>
  );
}

const HEALTH_ISSUES: Readonly<Record<Labels<'kithdb_health_issues'>['kind'], string>> = {
  disk_full: 'The disk is full: writes are refused until there is room.',
  memory_limit: 'Little memory is left: writes that make the data grow are refused.',
  log: 'The log of writes cannot be written.',
  quarantine: 'A collection is damaged and set aside. Restore it from a backup, or repair it.',
  collection: 'A collection has a fault.',
  checkpoint: 'Checkpoints cannot be written.',
  removal: 'Files of a deleted collection cannot be removed.',
  background: 'Background work fails and is tried again.',
};

/** What an operator has to deal with. */
function Health({ figures }: { figures: Figures }) {
  const issues = figures.all('kithdb_health_issues').filter(({ value }) => value > 0);
  const damage = figures.sum('kithdb_checksum_failures_total') ?? 0;
  if (issues.length === 0 && damage === 0) {
    return <Notice kind="good">No health issues.</Notice>;
  }
  return (
    <>
      {issues.map(({ labels: { kind } }) => (
        <Notice kind="warn" key={kind}>
          {HEALTH_ISSUES[kind]} The log of the server says more.
        </Notice>
      ))}
      {damage > 0 && (
        <Notice kind="warn">
          {count(damage)} pieces of files were not as they were written. Look at the disk, and check a backup.
        </Notice>
      )}
    </>
  );
}

/** A time in seconds since 1970, where 0 is none. */
function moment(seconds: number, none: string): string {
  return seconds === 0 ? none : date(new Date(seconds * 1000).toISOString());
}

/** Totals of the moment. */
function Contents({ figures }: { figures: Figures }) {
  const limit = figures.sum('kithdb_memory_limit_bytes', ({ of }) => of === 'process') ?? 0;
  const held = figures.sum('kithdb_memory_held_bytes', ({ of }) => of === 'process');
  const scrubbed = figures.sum('kithdb_scrub_last_finished_timestamp_seconds') ?? 0;
  const backedUp = figures.sum('kithdb_last_backup_timestamp_seconds') ?? 0;
  const components = figures.all('kithdb_memory_bytes').filter(({ value }) => value > 0);
  return (
    <section>
      <h2>What it holds</h2>
      <dl class="figures">
        <Figure label="Collections">{count(figures.sum('kithdb_collections') ?? 0)}</Figure>
        <Figure label="Points">{count(figures.sum('kithdb_points') ?? 0)}</Figure>
        <Figure label="Memory held">{held === undefined ? '–' : bytes(held)}</Figure>
        <Figure label="Memory limit">{limit === 0 ? 'none' : bytes(limit)}</Figure>
        <Figure label="Last scrub">{moment(scrubbed, 'not yet')}</Figure>
        <Figure label="Last backup">{moment(backedUp, 'none noted')}</Figure>
      </dl>
      {components.length > 0 && (
        <div class="table-frame" tabIndex={0} role="region" aria-label="Memory of collections">
          <table>
            <thead>
              <tr>
                <th scope="col">Memory of collections</th>
                <th scope="col" class="number">
                  Size
                </th>
              </tr>
            </thead>
            <tbody>
              {components.map(({ labels: { component }, value }) => (
                <tr key={component}>
                  <th scope="row">{component.replaceAll('_', ' ')}</th>
                  <td class="number">{bytes(value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
