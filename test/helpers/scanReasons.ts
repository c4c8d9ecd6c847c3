/** The cipher suites and groups of a server as ssl-check or testssl.sh reports them. */
interface Reported {
  /** Cipher suites, each after its protocol version and a space. */
  suites: readonly string[];
  groups: readonly string[];
}

/** A value that is not reported by both programs, and what each of them reports. */
interface Finding {
  field: string;
  value: string;
  reportedBy: 'scan' | 'testssl.sh' | 'configuration';
  ours: Reported;
  theirs: Reported & { forwardSecrecy: boolean };
}

/** Groups that testssl.sh 3.0.8 does not know. */
const UNKNOWN_GROUP = /MLKEM|tls13$/;
/** Cipher suites with which testssl.sh looks for elliptic curves. */
const SEARCHED_SUITE = /^\S+ TLS_(?:ECDHE_(?!.*(?:NULL|RC4|3DES))|AES|CHACHA20)/;
/** Curves of the ECDSA certificates of the servers. */
const CERTIFICATE_CURVE = /^secp(?:256|384)r1$/;
const FINITE_FIELD = /^ffdhe/;

const has13 = ({ suites }: Reported): boolean => suites.some((suite) => suite.startsWith('TLSv1.3'));
const searched = ({ suites }: Reported): string[] => suites.filter((suite) => SEARCHED_SUITE.test(suite));
const foundCurves = ({ groups }: Reported): string[] => groups.filter((group) => !FINITE_FIELD.test(group));

/** Known differences. The conditions are narrow, so that they do not hide an error of the scan on another server. */
const REASONS: readonly { text: string; applies: (finding: Finding) => boolean }[] = [
  {
    text: 'The cipher scan reports finite fields only for TLS 1.3, testssl.sh also for TLS 1.2.',
    applies: ({ field, value, reportedBy, ours }) =>
      reportedBy === 'testssl.sh' &&
      field === 'groups' &&
      FINITE_FIELD.test(value) &&
      !has13(ours) &&
      ours.suites.some((suite) => suite.startsWith('TLSv1.2 TLS_DHE_')),
  },
  {
    text: 'testssl.sh 3.0.8 does not know the group.',
    applies: ({ field, value, reportedBy }) =>
      reportedBy === 'scan' && field === 'groups' && UNKNOWN_GROUP.test(value),
  },
  {
    text: 'testssl.sh 3.0.8 knows none of the groups of the server.',
    applies: ({ field, value, reportedBy, ours }) =>
      reportedBy === 'scan' &&
      (field === 'protocols' || field === 'cipherSuites') &&
      value.startsWith('TLSv1.3') &&
      ours.groups.length > 0 &&
      ours.groups.every((group) => UNKNOWN_GROUP.test(group)),
  },
  {
    text: 'testssl.sh looks for curves only with suites that it counts as robust: not with anonymous, NULL, RC4 and 3DES suites.',
    applies: ({ field, reportedBy, ours, theirs }) =>
      reportedBy === 'scan' &&
      field === 'groups' &&
      searched(ours).length === 0 &&
      foundCurves(theirs).length === 0,
  },
  {
    text: 'testssl.sh does not offer the curve of the ECDSA certificate again after finding it, and the server then refuses.',
    applies: ({ field, reportedBy, ours, theirs }) =>
      reportedBy === 'scan' &&
      field === 'groups' &&
      !has13(ours) &&
      searched(ours).length > 0 &&
      searched(ours).every((suite) => suite.includes('_ECDSA_')) &&
      theirs.groups.some((group) => CERTIFICATE_CURVE.test(group)),
  },
  {
    text: 'testssl.sh begins its search for forward secrecy with a ClientHello of TLS 1.3, which offers no binary curves. The server refuses it, and testssl.sh then looks for no groups, although it has listed cipher suites with forward secrecy before.',
    applies: ({ field, reportedBy, ours, theirs }) =>
      reportedBy === 'scan' &&
      field === 'groups' &&
      !theirs.forwardSecrecy &&
      foundCurves(theirs).length === 0 &&
      !has13(ours) &&
      searched(theirs).length > 0,
  },
];

/** Returns why the programs differ: a limit of testssl.sh 3.0.8 or of the scan. Null when that is not known. */
export const reasonFor = (finding: Finding): string | null =>
  REASONS.find(({ applies }) => applies(finding))?.text ?? null;
