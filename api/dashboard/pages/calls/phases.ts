import type { CallPhases, CallRow } from '../../../../schemas/accountRows.ts';
import { table } from '../../components/table.ts';
import { duration, percent } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';

interface Phase {
  key: keyof CallPhases;
  name: string;
  description: string;
}

const BEFORE: readonly Phase[] = [
  { key: 'accept', name: 'Accept', description: 'key, rate limit, validation' },
  { key: 'queue', name: 'Queue', description: 'waiting for a slot of the API process' },
  { key: 'reserve', name: 'Reserve', description: 'workflow started, credits reserved' },
];
/** The phases whose times the worker reports. */
const WORK: readonly Phase[] = [
  { key: 'wait', name: 'Wait', description: 'for a worker' },
  { key: 'run', name: 'Tool', description: 'the work itself' },
  { key: 'settle', name: 'Settle', description: 'credits charged or returned' },
];
const RESPOND: Phase = { key: 'respond', name: 'Respond', description: 'result read and sent' };

/** A row of the table and a part of the bar. */
interface Part extends Phase {
  /** Null if it was not measured. */
  ms: number | null;
}

/** The phases of a call. If the worker reported no times, one part stands for its phases. */
function partsOf(phases: CallPhases, { durationMs }: Pick<CallRow, 'durationMs'>): Part[] {
  const measured = (phase: Phase): Part => ({ ...phase, ms: phases[phase.key] });
  const rest = (durationMs ?? 0) - (phases.reserve ?? 0);
  const unsplit: Part[] =
    rest > 0 ? [{ key: 'run', name: 'Wait and tool', description: 'not measured separately', ms: rest }] : [];
  return [
    ...BEFORE.map(measured),
    ...(phases.run === null ? unsplit : WORK.map(measured)),
    measured(RESPOND),
  ];
}

const WIDTH = 1000;
/** Smallest width of a part, so that it is visible. */
const LEAST = 3;

function barOf(parts: readonly Part[]): Html {
  const shown = parts.filter(({ ms }) => ms !== null && ms > 0);
  const total = shown.reduce((sum, { ms }) => sum + (ms ?? 0), 0);
  const widths = shown.map(({ ms }) => Math.max(LEAST, ((ms ?? 0) / total) * WIDTH));
  const whole = widths.reduce((sum, width) => sum + width, 0);
  const label = shown.map(({ name, ms }) => `${name} ${duration(ms ?? 0)}`).join(', ');
  let x = 0;
  return html`<svg class="phases" viewBox="0 0 ${whole.toFixed(1)} 10" preserveAspectRatio="none" role="img" aria-label="${label}">
${shown.map(({ key, name, ms }, index) => {
  const width = widths[index] ?? 0;
  const rect = html`<rect class="phase-${key}" x="${x.toFixed(1)}" width="${width.toFixed(1)}" height="10"><title>${name}: ${duration(ms ?? 0)}</title></rect>
`;
  x += width;
  return rect;
})}</svg>`;
}

/** The phases of a call as a bar and as a table. */
export function phaseView(phases: CallPhases, call: Pick<CallRow, 'durationMs'>): Html {
  const parts = partsOf(phases, call);
  const total = parts.reduce((sum, { ms }) => sum + (ms ?? 0), 0);
  return html`${total === 0 ? null : barOf(parts)}
${table<Part>(
  'Time by phase',
  [
    {
      title: 'Phase',
      cell: ({ key, name, description }) =>
        html`<span class="swatch phase-${key}"></span>${name} <span class="quiet">${description}</span>`,
    },
    { title: 'Time', numeric: true, cell: ({ ms }) => (ms === null ? '–' : duration(ms)) },
    {
      title: 'Share',
      numeric: true,
      cell: ({ ms }) => percent(ms === null || total === 0 ? null : Math.round((ms / total) * 100)),
    },
  ],
  parts,
  { isNamed: true, isCompact: true },
)}`;
}
