export function withoutExtraCertificates(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
export function withExtraCertificates(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
