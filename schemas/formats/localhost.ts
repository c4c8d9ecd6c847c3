/** Whether a URL's host is exactly `localhost`, in whatever case. @throws TypeError when it is no URL */
export const isLocalhost = (url: string): boolean => new URL(url).hostname === 'localhost';
