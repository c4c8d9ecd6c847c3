import { type Html, html } from '../frame/html.ts';
import { type Failure, faultOf } from './alert.ts';
import { prose } from './text.ts';

/** HTML attributes by name; null omits the attribute, '' writes it without a value. */
export type Attributes = Readonly<Record<string, string | number | null>>;

const attributesOf = (attributes: Attributes): Html[] =>
  Object.entries(attributes).flatMap(([name, value]) => {
    if (value === null) return [];
    return value === '' ? [html` ${name}`] : [html` ${name}="${value}"`];
  });

interface Field {
  /** Also the element's id; unique on the page. */
  name: string;
  label: string;
  hint?: Html | string | null;
  failure: Failure | null;
}

const faultId = (name: string): string => `${name}-fault`;

/** The fault of a field, shown beside it. */
const faultLine = (name: string, fault: string | null): Html | null =>
  fault === null
    ? null
    : html`
<small id="${faultId(name)}" class="fault">${prose(fault)}</small>`;

/** Wraps a control with its label, hint and fault, linked by ARIA attributes. */
function wrap({ name, label, hint = null, failure }: Field, control: (attributes: Html[]) => Html): Html {
  const fault = faultOf(failure, name);
  const described = [hint === null ? [] : `${name}-hint`, fault === null ? [] : faultId(name)].flat();
  const attributes = attributesOf({
    'aria-describedby': described.length === 0 ? null : described.join(' '),
    'aria-invalid': fault === null ? null : 'true',
  });
  return html`<div class="field">
<label for="${name}">${label}</label>
${control(attributes)}${
  hint === null
    ? null
    : html`
<small id="${name}-hint">${hint}</small>`
}${faultLine(name, fault)}
</div>`;
}

/** A single-line input: text, number, date or password. */
export const inputField = (field: Field & { type?: string; value?: string; attributes?: Attributes }): Html =>
  wrap(
    field,
    (more) =>
      html`<input id="${field.name}" name="${field.name}" type="${field.type ?? 'text'}"${
        field.value === undefined ? null : html` value="${field.value}"`
      }${attributesOf(field.attributes ?? {})}${more}>`,
  );

/** HTML drops the first line break after the tag, so one is always written. */
export const textField = (field: Field & { value: string; rows?: number; attributes?: Attributes }): Html =>
  wrap(
    field,
    (
      more,
    ) => html`<textarea id="${field.name}" name="${field.name}" rows="${field.rows ?? 4}"${attributesOf(field.attributes ?? {})}${more}>
${field.value}</textarea>`,
  );

export const selectField = (
  field: Field & { options: readonly { value: string; label: string }[]; value: string },
): Html =>
  wrap(
    field,
    (more) => html`<select id="${field.name}" name="${field.name}"${more}>
${field.options.map(
  ({ value, label }) =>
    html`<option value="${value}"${value === field.value ? html` selected` : null}>${label}</option>`,
)}
</select>`,
  );

interface Choice {
  name: string;
  value: string;
  label: Html | string;
  checked: boolean;
  type?: 'checkbox' | 'radio';
  /** Needed when several choices share a name. */
  id?: string;
}

export const choice = ({ name, value, label, checked, type = 'checkbox', id = name }: Choice): Html =>
  html`<div class="choice">
<input id="${id}" name="${name}" type="${type}" value="${value}"${checked ? html` checked` : null}>
<label for="${id}">${label}</label>
</div>`;

/** A group of choices with a legend. */
export function choices({ name, label, failure }: Omit<Field, 'hint'>, items: readonly Html[]): Html {
  const fault = faultOf(failure, name);
  return html`<fieldset id="${name}"${fault === null ? null : html` aria-describedby="${faultId(name)}"`}>
<legend>${label}</legend>
${items}${faultLine(name, fault)}
</fieldset>`;
}
