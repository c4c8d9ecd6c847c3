/** True if the host of a URL is exactly `localhost`, in any case. @throws TypeError for an invalid URL */
export const isLocalhost = (url: string): boolean => new URL(url).hostname === 'localhost';
