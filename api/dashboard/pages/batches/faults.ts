import { ERRORS, type Fault } from '../../../../schemas/errors.ts';
import { alert, type Failure } from '../../components/alert.ts';
import { remedyOf } from '../../components/remedy.ts';
import { table } from '../../components/table.ts';
import { count, prose } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';

/** A fault of a file, as it is shown. */
interface FileFault {
  line: string;
  column: string;
  text: string;
}

/** The beginning of a message of `csvRows`: `line 8, column text: `. */
const PLACE = /^line (\d+)(?:, column (.{1,100}?))?: /;
/** Separators of spreadsheets in other languages, in the name of a column. */
const OTHER_SEPARATOR = /[;\t]/;

const nameIn = (pointer: string): string => pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');

/** Separates the place of a fault from its text. A fault of the header has the name of its column as pointer. */
function fileFault({ pointer, message }: Fault): FileFault {
  const [place, line = '', column] = PLACE.exec(message) ?? [''];
  const isHeader = line === '1' && pointer !== '';
  return { line, column: column ?? (isHeader ? nameIn(pointer) : ''), text: message.slice(place.length) };
}

const none = html`<span class="quiet">–</span>`;

const faultTable = (faults: readonly Fault[]): Html =>
  table<FileFault>(
    'Faults of the file',
    [
      { title: 'Line', numeric: true, cell: ({ line }) => (line === '' ? none : line) },
      { title: 'Column', cell: ({ column }) => (column === '' ? none : html`<code>${column}</code>`) },
      { title: 'Fault', cell: ({ text }) => html`<bdi>${prose(text)}</bdi>` },
    ],
    faults.map(fileFault),
    { isNamed: true },
  );

/** The faults of a file with their lines and columns. */
function faultsView({ faults, more = 0 }: Failure): Html {
  const total = faults.length + more;
  const hasOtherSeparator = faults.some(
    (fault) => fileFault(fault).line === '1' && OTHER_SEPARATOR.test(fault.pointer),
  );
  return html`<div class="alert" role="alert">
<h2>${count(total, 'fault')} in the file</h2>
<p>Nothing was stored or charged. Correct the file, and choose it again. Line 1 is the header.</p>
${hasOtherSeparator ? html`<p>The columns must be separated by commas, not by semicolons or tabs.</p>` : null}
</div>
<div class="scroll faults" tabindex="0" role="group" aria-label="Faults">
${faultTable(faults)}
</div>
${more === 0 ? null : html`<p class="quiet">The first ${faults.length} faults are shown, one for each row; ${count(more, 'further row')} ${more === 1 ? 'has' : 'have'} faults too.</p>`}`;
}

/** Explains why a file was not accepted. @param fileMegabytes maximum size of a file */
export function uploadFailure(failure: Failure, fileMegabytes: number): Html {
  const { code } = failure;
  const said = (message: string) => html`${alert({ message, faults: [] })}`;
  switch (code) {
    case 'invalid_input':
      return failure.faults.length > 0 ? faultsView(failure) : said(failure.message);
    case 'body_too_large':
      return said(`The file is too large. It can have at most ${fileMegabytes} MB.`);
    case 'malformed_json':
      return said(
        'The file is no text in UTF-8, or did not arrive completely. Save it as “CSV UTF-8”, and choose it again.',
      );
    case 'idempotency_key_mismatch':
      return said('This form was sent before with another file. Choose the file again.');
    case undefined:
      return said(failure.message);
    default:
      return html`<div class="alert" role="alert">
<h2>${ERRORS[code].title}</h2>
<p>${failure.message}</p>
${remedyOf(code)}
<p><strong>Nothing was stored or charged.</strong></p>
</div>`;
  }
}
