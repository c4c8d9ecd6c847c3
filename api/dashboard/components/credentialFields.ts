import type { Html } from '../frame/html.ts';
import type { Failure } from './alert.ts';
import { inputField } from './field.ts';

/** Password length limits of better-auth. */
export const PASSWORD = { minlength: 8, maxlength: 128 } as const;

/** The address with which a user signs in. */
export const emailField = (email: string, failure: Failure | null): Html =>
  inputField({
    name: 'email',
    label: 'Email',
    type: 'email',
    value: email,
    attributes: { autocomplete: 'username', required: '' },
    failure,
  });

/** The password field of a form that needs it. */
export const passwordField = (failure: Failure | null, name = 'password'): Html =>
  inputField({
    name,
    label: 'Current password',
    type: 'password',
    attributes: { autocomplete: 'current-password', required: '' },
    failure,
  });
