/** Whether the host of a URL is exactly `localhost`, ignoring case. @throws TypeError if the URL is invalid */
export const isLocalhost = (url: string): boolean => new URL(url).hostname === 'localhost';
