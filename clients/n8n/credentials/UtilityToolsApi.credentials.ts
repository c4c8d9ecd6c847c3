import type {
  IAuthenticateGeneric,
  ICredentialTestRequest,
  ICredentialType,
  Icon,
  INodeProperties,
} from 'n8n-workflow';

/** The address of an installation of the service, and a key of scope `tools`. */
export class UtilityToolsApi implements ICredentialType {
  name = 'utilityToolsApi';

  displayName = 'Utility Tools API';

  icon: Icon = { light: 'file:../icons/utilityTools.svg', dark: 'file:../icons/utilityTools.dark.svg' };

  properties: INodeProperties[] = [
    {
      displayName: 'Base URL',
      name: 'baseUrl',
      type: 'string',
      default: '',
      required: true,
      placeholder: 'https://tools.example.com',
      description: 'Address of the service, without a path',
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      required: true,
      description: 'Key with the scope tools, from the page Keys of the dashboard',
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: { headers: { Authorization: '=Bearer {{$credentials.apiKey}}' } },
  };

  // Costs nothing, and needs the same scope as calls of tools.
  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.baseUrl}}', url: '/api/v1/files' },
  };
}
