/** Maximum length of an email address (RFC 5321, section 4.5.3.1.3, without the angle brackets). */
const LENGTH = 254;
const EMAIL = /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u;

/** Whether text has the format of an email address. */
export const isEmail = (text: string): boolean => text.length <= LENGTH && EMAIL.test(text);
